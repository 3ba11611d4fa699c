package transport

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// TestInternalErrorsAreLoggedByDefault: a client never sees them, so that somebody else must.
func TestInternalErrorsAreLoggedByDefault(t *testing.T) {
	var log, own bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	hub := listen.NewHub(nil)
	of := slog.New(slog.NewTextHandler(&own, nil))
	for name, s := range map[string]*Server{
		"server":      NewServer(newFakeCatalogue(), hub, nil),
		"interceptor": NewInterceptor(&listen.Service{Hub: hub}, nil).s,
	} {
		log.Reset()
		if s.refuse(t.Context(), nil, jsonrpc.ID{}, errors.New("disk is odd"), true); !strings.Contains(log.String(), "disk is odd") {
			t.Errorf("the %s logs %q", name, &log)
		}
	}
	log.Reset()
	i := NewInterceptor(&listen.Service{Hub: hub, Logger: of}, nil)
	if i.s.refuse(t.Context(), nil, jsonrpc.ID{}, errors.New("disk is odd"), true); log.Len() > 0 || !strings.Contains(own.String(), "disk is odd") {
		t.Errorf("an interceptor of a service with a logger: %q, that logger: %q", &log, &own)
	}
	if err := hub.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
