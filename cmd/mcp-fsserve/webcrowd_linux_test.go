package main

import (
	"context"
	"net"
	"syscall"
	"testing"
)

// some is how many clients listen in the tests.
const some = 200

// TestWebGivesBackWhatListensTook has clients leave in both ways there are, wave after wave, and in the middle of opening.
func TestWebGivesBackWhatListensTook(t *testing.T) {
	h := openHall(t, "mcp-fsserve", "--max-listens", "400")
	before := h.descriptors()
	for range 5 {
		c := h.gather(some, visitor)
		c.heard(h.change())
		if n := h.descriptors(); n < some {
			t.Errorf("%d descriptors with %d clients", n, some)
		}
		c.leave()
		h.untilAsFew(before)
	}
	inParallel(some, func(i int) {
		conn, err := h.dial(0)
		if err != nil {
			t.Error(err)
			return
		}
		request := visitor(i)
		if _, err := conn.Write(request[:len(request)*(i%5)/4]); err != nil {
			t.Error(err)
		}
		hangUp(conn, i%2 == 0)
	})
	h.untilAsFew(before)
	c := h.gather(400, visitor) // nothing of those before is counted any more
	c.leave()
	h.end(syscall.SIGTERM)
}

// stalled opens a listen whose client never reads what it is told, until the way to it is full. Others hear of every change
// meanwhile.
func (h *hall) stalled(c *crowd) net.Conn {
	h.t.Helper()
	client := h.stalledListen(busyName)
	ctx, stop := context.WithCancel(context.Background())
	stirred := make(chan struct{})
	go func() {
		defer close(stirred)
		h.stir(ctx)
	}()
	h.untilFull(client, func() { c.heard(h.change()) })
	stop()
	<-stirred
	return client
}

func TestWebStalledClientLosesItsOwnStreamOnly(t *testing.T) {
	h := openHall(t, "mcp-fsserve", "--write-timeout", "1s")
	before := h.descriptors()
	c := h.gather(some, visitor)
	h.untilGivenUp(h.stalled(c), func() { c.heard(h.change()) })
	c.heard(h.change())
	h.untilAsFew(before + some + 1) // with the one that tells of clients that go
	c.leave()
	h.untilAsFew(before)
	h.end(syscall.SIGTERM)
}

// TestWebCompletesACrowd ends the server while many listen and one of them is stalled.
func TestWebCompletesACrowd(t *testing.T) {
	h := openHall(t, "mcp-fsserve", "--write-timeout", "1s")
	c := h.gather(some, visitor)
	h.stalled(c)
	h.end(syscall.SIGTERM)
	c.readers.Wait()
	if n := c.completed.Load(); n != some {
		t.Errorf("%d of %d streams were completed", n, some)
	}
	c.leave()
}

// TestWebUnreadAnswerCostsItsOwnConnectionOnly has clients ask for what is much longer than what the kernel holds for them, and
// not read it.
func TestWebUnreadAnswerCostsItsOwnConnectionOnly(t *testing.T) {
	h := openHall(t, "mcp-fsserve", "--write-timeout", "1s")
	large(t, h.dir)
	before := h.descriptors()
	for _, client := range []net.Conn{h.unread(), h.unread(), h.unread()} {
		h.untilGivenUp(client, func() { h.request(readRequest("file-007.md")) })
	}
	h.request(readRequest("large.md"))
	h.untilAsFew(before)
	h.end(syscall.SIGTERM)
}

// TestWebUnreadAnswerLeavesMemoryForOthers: as long as the first client may take nothing, others read what is as large.
func TestWebUnreadAnswerLeavesMemoryForOthers(t *testing.T) {
	h := openHall(t, "mcp-fsserve", "--write-timeout", "10m")
	large(t, h.dir)
	client := h.unread()
	for range 3 {
		h.request(readRequest("large.md"))
	}
	if l := h.link(client); !l.open {
		t.Errorf("the first client is given up: %+v", l)
	}
	hangUp(client, true)
	h.end(syscall.SIGTERM)
}
