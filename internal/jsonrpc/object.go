package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
)

var errSyntax = errors.New("not valid JSON")

// Object is the members of a JSON object, not decoded: their values, and most names, alias the text that was split. The zero
// Object has none.
type Object struct {
	list  []member
	index map[string]int // of list by name, nil while they are few
}

type member struct {
	name  []byte // decoded
	value json.RawMessage
}

// few is how many members are searched one by one: nearly no message has more in one object.
const few = 12

// Split splits a JSON object into its members. Unlike encoding/json it does not fold case, and it refuses a name that occurs
// twice: both let two readers of one message disagree.
func Split(raw []byte) (Object, error) {
	const usual = 4
	o, err := split(raw, make([]member, 0, usual))
	if err != nil {
		return Object{}, err
	}
	return o, nil
}

// Members is [Split] for who goes through all the names.
func Members(raw []byte) (map[string]json.RawMessage, error) {
	o, err := Split(raw)
	if err != nil {
		return nil, err
	}
	return maps.Collect(o.All()), nil
}

// All goes through the members, in their order.
func (o *Object) All() iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for i := range o.list {
			if !yield(string(o.list[i].name), o.list[i].value) {
				return
			}
		}
	}
}

// Get returns the value of a member, nil if there is none.
func (o *Object) Get(name string) json.RawMessage {
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return o.list[i].value
		}
		return nil
	}
	for i := range o.list {
		if string(o.list[i].name) == name {
			return o.list[i].value
		}
	}
	return nil
}

// Given reports whether there is an object, be it without any member.
func (o *Object) Given() bool { return o.list != nil }

// Has reports whether there is a member of that name.
func (o *Object) Has(name string) bool { return o.Get(name) != nil }

// split is Split into a list that is empty. Where names occur twice it fails, and has nil for those and the others all the same. The
// error is errSyntax if and only if raw is not valid JSON.
func split(raw []byte, list []member) (o Object, err error) {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		if end := scanValue(raw, i, 0); end < 0 || skipSpace(raw, end) != len(raw) {
			return o, errSyntax
		}
		return o, errors.New("not an object")
	}
	o.list = list
	i = skipSpace(raw, i+1)
	for more := i < len(raw) && raw[i] != '}'; more; {
		nameEnd := scanString(raw, i)
		start := scanColon(raw, nameEnd)
		end := scanValue(raw, start, 1)
		if end < 0 {
			return Object{}, errSyntax
		}
		name := nameOf(raw[i:nameEnd:nameEnd])
		if at := o.find(name); at >= 0 {
			o.list[at].value = nil
			err = fmt.Errorf("%q occurs twice", Clip(string(name)))
		} else {
			if o.index == nil && len(o.list) == few {
				o.index = indexed(o.list)
			}
			if o.index != nil {
				o.index[string(name)] = len(o.list)
			}
			o.list = append(o.list, member{name, raw[start:end:end]})
		}
		i = skipSpace(raw, end)
		if more = i < len(raw) && raw[i] == ','; more {
			i = skipSpace(raw, i+1)
		}
	}
	if i >= len(raw) || raw[i] != '}' || skipSpace(raw, i+1) != len(raw) {
		return Object{}, errSyntax
	}
	return o, err
}

// nameOf decodes a name, in place unless it has an escape.
func nameOf(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		return []byte(unquote(quoted))
	}
	return quoted[1 : len(quoted)-1]
}

func indexed(list []member) map[string]int {
	index := make(map[string]int, 2*len(list))
	for i := range list {
		index[string(list[i].name)] = i
	}
	return index
}

// find returns where in the list a member is, -1 if it is not there.
func (o *Object) find(name []byte) int {
	if o.index != nil {
		if i, ok := o.index[string(name)]; ok {
			return i
		}
		return -1
	}
	for i := range o.list {
		if bytes.Equal(o.list[i].name, name) {
			return i
		}
	}
	return -1
}
