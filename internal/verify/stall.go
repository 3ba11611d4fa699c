package verify

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// stallOne asks for so much on a connection that is not read that the server cannot write it, and looks what becomes of
// another connection meanwhile.
func (p *probe) stallOne(ctx context.Context, l *link) {
	if !p.rec.HTTP || len(p.uris) == 0 {
		return
	}
	g := &gate{open: make(chan struct{})}
	close(g.open)
	transport := &http.Transport{DialContext: g.dial, DialTLSContext: g.dialTLS}
	defer transport.CloseIdleConnections()
	defer g.raise()
	still, err := p.connect(ctx, &http.Client{Transport: transport, CheckRedirect: noRedirect})
	if err != nil || still.ask(ctx, "server/discover", nil, Plain) == nil {
		return
	}
	begun := p.add(Entry{Conn: still.number, Kind: Stalled})
	g.lower()
	asked := p.everything()
	asked.URIs = append(slices.Clone(asked.URIs), p.baggage()...)
	all := []json.RawMessage{
		still.listen(ctx, p.newID(), asked, Baggage),
		still.listen(ctx, p.longID(), p.everything(), Baggage),
	}
	p.stir(ctx)
	if l.acknowledgements(ctx, l.open(ctx, 3, p.everything(), Plain)...) {
		p.change(ctx, l)
	}
	p.time(ctx, l, Plain)

	p.add(Entry{Conn: still.number, Kind: Released})
	g.raise()
	still.acknowledgements(ctx, all...)
	if p.first == nil && p.talks { // silence says something only if it ends then
		p.until(ctx, p.wait, func(v *view) bool { return v.nextTold(begun, still.number) >= 0 })
	}
	still.cancel(ctx, all...)
	still.drop()
}

// stir has enough told to fill what is between two programs, if the messages are as long as the id of a listen makes them.
func (p *probe) stir(ctx context.Context) {
	if p.first == nil {
		if p.talks {
			pause(ctx, watching)
		}
		return
	}
	for range 10 {
		_ = p.world.Put(p.first.name, p.newText()) // whoever is told of it, nobody waits for that
		pause(ctx, settle/5)
	}
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// baggage are URIs that make an acknowledgement of some three and a half megabytes: what is between two programs holds less,
// and a request may be as long as that.
func (p *probe) baggage() (uris []string) {
	parent := p.uris[0][:strings.LastIndexByte(p.uris[0], '/')+1]
	padding := strings.Repeat(strings.Repeat("x", 200)+"/", 2)
	for i := range p.load {
		uris = append(uris, fmt.Sprintf("%s%s%d", parent, padding, i))
	}
	return uris
}

// longID is an id of half a megabyte, which each message of its listen bears. A server may refuse it.
func (p *probe) longID() json.RawMessage {
	p.lastID++
	return fmt.Appendf(nil, `"%s%d"`, strings.Repeat("x", 512<<10), p.lastID)
}

// gate lets through what connections read, or holds it up.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed while reads go through; made anew by lower
}

func (g *gate) lower() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) raise() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

func (g *gate) state() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// dial makes connections whose reads the gate can hold up.
func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &gated{Conn: conn, gate: g}, nil
}

// dialTLS is dial for HTTPS. The gate is above TLS, whose handshake needs to be read also while the gate is down: a second
// listen has a connection of its own.
func (g *gate) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := tls.Dialer{Config: &tls.Config{NextProtos: []string{"http/1.1"}}}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &gated{Conn: conn, gate: g}, nil
}

// gated is a connection behind a gate.
type gated struct {
	net.Conn
	gate *gate
}

func (c *gated) Read(b []byte) (int, error) {
	<-c.gate.state() // raised before the probe leaves
	return c.Conn.Read(b)
}
