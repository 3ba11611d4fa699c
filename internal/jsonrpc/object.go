package jsonrpc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"
)

var errSyntax = errors.New("not valid JSON")

// Object is the members of a JSON object, not decoded: their values, and most names, alias the text that was split. The zero
// Object has none.
type Object struct {
	raw  []byte
	list members
}

// members are those of an object, in their order or, if they are more than few, by name. They do not hold the text of the values,
// so that a list of them may stay on the stack whatever becomes of the text.
type members []member

// member has its value as a place in the text, a third of what a slice takes: there are texts with little but members in them.
type member struct {
	name     []byte // decoded
	from, to uint32 // of the value; both 0: there is none
}

// few is how many members are searched one by one: nearly no message has more in one object.
const few = 12

// Split splits a JSON object into its members. Unlike encoding/json it does not fold case, and it refuses a name that occurs
// twice: both let two readers of one message disagree.
func Split(raw []byte) (Object, error) {
	const usual = 4
	list, err := scanMembers(raw, make(members, 0, usual))
	if err == nil {
		err = list.settle()
	}
	if err != nil {
		return Object{}, err
	}
	return Object{raw, list}, nil
}

// Members is [Split] for who takes members away.
func Members(raw []byte) (map[string]json.RawMessage, error) {
	o, err := Split(raw)
	if err != nil {
		return nil, err
	}
	return maps.Collect(o.All()), nil
}

// All goes through the members, in any order.
func (o *Object) All() iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for i := range o.list {
			if m := &o.list[i]; !yield(string(m.name), m.value(o.raw)) {
				return
			}
		}
	}
}

// Get returns the value of a member, nil if there is none.
func (o *Object) Get(name string) json.RawMessage { return o.list.get(o.raw, name) }

// Given reports whether there is an object, be it without any member.
func (o *Object) Given() bool { return o.list != nil }

// Has reports whether there is a member of that name.
func (o *Object) Has(name string) bool { return o.Get(name) != nil }

func (all members) get(raw []byte, name string) json.RawMessage {
	if len(all) > few {
		i, found := sort.Find(len(all), func(i int) int { return cmp.Compare(name, string(all[i].name)) })
		if !found {
			return nil
		}
		return all[i].value(raw)
	}
	for i := range all {
		if string(all[i].name) == name {
			return all[i].value(raw)
		}
	}
	return nil
}

func (m *member) value(raw []byte) json.RawMessage {
	if m.to == 0 {
		return nil
	}
	return raw[m.from:m.to:m.to]
}

// scanMembers scans an object into a list that is empty, and is to be settled. The error is errSyntax if and only if raw is not
// valid JSON.
func scanMembers(raw []byte, list members) (members, error) {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		if end := scanValue(raw, i, 0); end < 0 || skipSpace(raw, end) != len(raw) {
			return nil, errSyntax
		}
		return nil, errors.New("not an object")
	}
	i = skipSpace(raw, i+1)
	for more := i < len(raw) && raw[i] != '}'; more; {
		if len(list) == few {
			// There may be very many: a list that grows takes room for two.
			list = append(make(members, 0, few+countMembers(raw, i)), list...)
		}
		nameEnd := scanString(raw, i)
		start := scanColon(raw, nameEnd)
		end := scanValue(raw, start, 1)
		if end < 0 {
			return nil, errSyntax
		}
		list = append(list, member{nameOf(raw[i:nameEnd:nameEnd]), uint32(start), uint32(end)})
		i, more = scanComma(raw, end)
	}
	switch {
	case i >= len(raw) || raw[i] != '}' || skipSpace(raw, i+1) != len(raw):
		return nil, errSyntax
	case uint64(len(raw)) > math.MaxUint32:
		return nil, errors.New("longer than 4 GiB")
	}
	return list, nil
}

// countMembers counts the members from the one that begins at raw[i] on, as far as they are valid.
func countMembers(raw []byte, i int) (n int) {
	for more := true; more; n++ {
		end := scanValue(raw, scanColon(raw, scanString(raw, i)), 1)
		if end < 0 {
			break
		}
		i, more = scanComma(raw, end)
	}
	return n
}

// settle makes members of a list that can be searched. It fails where several have one name, and lets those have no value.
func (all members) settle() (err error) {
	reach := len(all) // how far apart those of one name may be
	if reach > few {
		slices.SortFunc(all, func(m, n member) int { return bytes.Compare(m.name, n.name) })
		reach = 1
	}
	for i := range all {
		for k := max(0, i-reach); k < i; k++ {
			if m, n := &all[k], &all[i]; bytes.Equal(m.name, n.name) {
				m.from, m.to, n.from, n.to = 0, 0, 0, 0
				err = fmt.Errorf("%q occurs twice", Clip(string(n.name)))
			}
		}
	}
	return err
}

// nameOf decodes a name, in place unless it has an escape.
func nameOf(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		return []byte(unquote(quoted))
	}
	return quoted[1 : len(quoted)-1]
}
