package transport

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// What is completed: the one variable of the resource templates.
const (
	completedRef      = "ref/resource"
	completedArgument = "path"
)

// complete serves completion/complete. A server without prompts has one thing to complete; "Missing required arguments"
// and what else it does not know are invalid params (server/utilities/completion, "Error Handling").
func (s *Server) complete(ctx context.Context, r *request, dst []byte) ([]byte, error) {
	template, err := referredTemplate(r.params)
	if err != nil {
		return nil, err
	}
	value, err := argumentValue(r.params)
	if err != nil {
		return nil, err
	}
	if err := checkContext(r.params); err != nil {
		return nil, err
	}
	found, err := s.cat.Complete(ctx, template, value)
	if errors.Is(err, mcp.ErrUnknownTemplate) {
		return nil, invalid("ref.uri %q is not completed, %s is: resources/templates/list has all templates", jsonrpc.Clip(template), s.someTemplates())
	}
	if err != nil {
		return nil, err
	}
	dst = append(s.openResult(dst, r), `"completion":`...)
	dst = appendCompletion(dst, &found)
	return s.closeUncached(dst, r), nil
}

// referredTemplate returns the template that ref names.
func referredTemplate(p params) (string, error) {
	ref, err := p.requiredObject("ref", "ref", "name a resource template")
	if err != nil {
		return "", err
	}
	kind, err := ref.required("type", "ref.type", strconv.Quote(completedRef)+" is what is completed")
	if err != nil {
		return "", err
	}
	if kind != completedRef {
		return "", invalid("ref.type %q is not completed, %q is", jsonrpc.Clip(kind), completedRef)
	}
	return ref.required("uri", "ref.uri", "name a resource template")
}

// argumentValue returns what is to be completed.
func argumentValue(p params) (string, error) {
	argument, err := p.requiredObject("argument", "argument", "give its name and its value so far")
	if err != nil {
		return "", err
	}
	name, err := argument.required("name", "argument.name", strconv.Quote(completedArgument)+" is what is completed")
	if err != nil {
		return "", err
	}
	if name != completedArgument {
		return "", invalid("argument.name %q is not completed, %q is", jsonrpc.Clip(name), completedArgument)
	}
	return argument.required("value", "argument.value", "give what is typed so far")
}

// checkContext checks what other arguments have been completed to. It means nothing where there is one argument.
func checkContext(p params) error {
	context, err := p.object("context", "context")
	if err != nil {
		return err
	}
	arguments, err := context.object("arguments", "context.arguments")
	if err != nil {
		return err
	}
	for _, value := range arguments.All() {
		if value[0] != '"' {
			return invalid("the values of context.arguments must be strings")
		}
	}
	return nil
}

// someTemplates names some of the templates, for an error.
func (s *Server) someTemplates() string {
	const most = 3
	all := s.cat.Templates()
	var names []string
	for _, t := range all[:min(len(all), most)] {
		names = append(names, strconv.Quote(t.URITemplate))
	}
	if len(all) > most {
		names = append(names, "…")
	}
	return strings.Join(names, " or ")
}

func appendCompletion(dst []byte, c *mcp.Completion) []byte {
	dst = appendStrings(append(dst, `{"values":`...), c.Values)
	dst = append(dst, `,"total":`...)
	dst = strconv.AppendInt(dst, int64(c.Total), 10)
	dst = append(dst, `,"hasMore":`...)
	dst = strconv.AppendBool(dst, c.HasMore)
	return append(dst, '}')
}
