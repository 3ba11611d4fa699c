package resources

import (
	"context"
	"sort"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// Complete returns what value can go on as, for the path of a template: the entries of the directory that it names so far,
// percent-encoded, files first, directories with their slash (server/utilities/completion: 100 values at most). It waits for
// Load as far as that directory. Errors: [ErrUnknownTemplate], that of ctx.
func (c *Catalogue) Complete(ctx context.Context, template, value string) (Completion, error) {
	for _, r := range c.roots {
		if r.base.template() == template {
			c.update(ctx)
			return r.completions(ctx, value)
		}
	}
	return mcp.Completion{}, mcp.ErrUnknownTemplate
}

// completions reads value as a URI is read: decoded, and if nothing is there, to the letter.
func (r *Root) completions(ctx context.Context, value string) (mcp.Completion, error) {
	none := mcp.Completion{Values: []string{}}
	if len(value) > mostPath*len("%XX") { // each span holds it: 175 of them after a "%"
		return none, nil
	}
	slash := strings.LastIndexByte(value, '/')
	in, rest := value[:max(slash, 0)], value[slash+1:]
	top := slash < 0
	if decoded, ok := decodePath(in); ok || top {
		out, err := r.completeIn(ctx, decoded, beginnings(rest))
		if err != nil || out.Total > 0 {
			return out, err
		}
	}
	if strings.Contains(value, "%") && (top || plainPath(in)) {
		return r.completeIn(ctx, in, []span{spanOf(rest)})
	}
	return none, nil
}

// completeIn returns the entries of the directory rel whose names are in the spans.
func (r *Root) completeIn(ctx context.Context, rel string, spans []span) (mcp.Completion, error) {
	const most = 100
	out := mcp.Completion{Values: []string{}}
	var files roll[*file]
	var dirs roll[*dir]
	err := r.await(ctx, func() bool {
		d, rest := r.tree.descend(rel)
		if d.loaded && rest == "" {
			files, dirs = d.files, d.dirs
		}
		return d.loaded
	})
	if err != nil {
		return out, err
	}
	prefix := ""
	if rel != "" {
		prefix = escape(rel) + "/"
	}
	for _, s := range spans {
		i, j := files.within(s)
		out.Total += j - i
		for ; i < j && len(out.Values) < most; i++ {
			out.Values = append(out.Values, prefix+escape(files.at(i).name))
		}
	}
	for _, s := range spans {
		i, j := dirs.within(s)
		out.Total += j - i
		for ; i < j && len(out.Values) < most; i++ {
			out.Values = append(out.Values, prefix+escape(dirs.at(i).name)+"/")
		}
	}
	out.HasMore = out.Total > len(out.Values)
	return out, nil
}

// span is the names from one to before another; "" is after all.
type span struct{ from, before string }

// spanOf returns the span of the names that begin with prefix.
func spanOf(prefix string) span {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xFF {
			return span{prefix, prefix[:i] + string([]byte{prefix[i] + 1})}
		}
	}
	return span{from: prefix}
}

// within returns the numbers of the entries of a span: from i on, before j.
func (r *roll[E]) within(s span) (i, j int) {
	return spread(0, r.len(), func(k int) string { return r.at(k).called() }, s)
}

// spread returns where from lo on and before hi, by names that are in order, those of a span are.
func spread(lo, hi int, nameOf func(i int) string, s span) (i, j int) {
	i = lo + sort.Search(hi-lo, func(k int) bool { return nameOf(lo+k) >= s.from })
	if s.before == "" {
		return i, hi
	}
	return i, i + sort.Search(hi-i, func(k int) bool { return nameOf(i+k) >= s.before })
}

// beginnings returns the spans of the names that a value can be the beginning of, in order. It may end in the middle of an
// escape: then each byte whose escape begins like that can follow.
func beginnings(value string) []span {
	i := max(strings.LastIndexByte(value, '%'), 0)
	before, half := unescape(value[:i]), value[i:]
	var digit byte
	switch known := true; {
	case half == "%":
		digit = anyDigit
	case len(half) == len("%X") && half[0] == '%':
		if digit, known = unhex(half[1]); known {
			break
		}
		fallthrough
	default:
		return []span{spanOf(unescape(value))}
	}
	var spans []span
	for c := range 256 {
		first := byte(c) >> 4
		switch {
		case !literal[c] && (digit == anyDigit || digit == first):
			spans = append(spans, spanOf(before+string([]byte{byte(c)})))
		case c == '%':
			spans = append(spans, spanOf(before+half))
		}
	}
	return spans
}

const anyDigit = 0xFF
