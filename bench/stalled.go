package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const stalledTable = "One reader of 200 takes nothing"

// How the stalled reader is made to stall: it takes nothing, and by small segments and a small buffer the kernel keeps little for
// it. What everybody is told meanwhile is more than that.
const (
	stormFiles    = 50                    // that change, and of which all are told
	aroundStalled = 199                   // readers that are well
	stalledPause  = 60 * time.Millisecond // more than a server that paces one URI may wait
	healthyWithin = 2 * time.Second
)

// stalledStep measures how many streams are told of a change while one beside them takes nothing.
func (b *bench) stalledStep(ctx context.Context, p peer) error {
	ch, endpoint, err := b.serveHTTP(ctx, p)
	if err != nil {
		return err
	}
	defer ch.end()
	b.tellOfLists(p)
	uris := notes(stormFiles)(0) // of all streams
	c, err := openCrowd(ctx, p, endpoint, aroundStalled, func(int) []string { return uris })
	if err != nil {
		return err
	}
	defer c.close()
	stalled, err := openStalled(ctx, endpoint, p.listen(uris).post(endpoint, 1))
	if err != nil {
		return err
	}
	defer stalled.Close()
	storm, err := b.spent(ctx, ch, func() error {
		for round := range b.scale.storm {
			for i := range uris {
				if err := overwrite(filepath.Join(b.dir, noteName(i)), fmt.Sprintf("note %d of round %d\n", i, round)); err != nil {
					return err
				}
			}
			sleep(ctx, stalledPause)
		}
		return nil
	})
	if err != nil {
		return err
	}
	took, err := c.tell(ctx, b.dir, aroundStalled, healthyWithin)
	if err != nil {
		return err
	}
	if losses := c.losses(); losses != "" {
		b.sheet.note("one reader of 200 of %s takes nothing:%s", p.name, losses)
	}
	add := func(what, unit string, value float64) { b.sheet.add(row{stalledTable, what, unit}, p.name, value) }
	add(fmt.Sprintf("of the %d others, told of a change within 2 s", aroundStalled), streamsTold, float64(len(took)))
	add("memory grows by", "MB", float64(storm.memory)/1e6)
	return nil
}

func openStalled(ctx context.Context, endpoint *url.URL, request []byte) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<10),
				unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, 536))
		})
		return errors.Join(err, failed)
	}}
	conn, err := d.DialContext(ctx, "tcp", endpoint.Host)
	if err != nil {
		return nil, err
	}
	if err := ackOnly(conn, request); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// ackOnly asks for a listen, and reads until it is acknowledged.
func ackOnly(conn net.Conn, request []byte) error {
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write(request); err != nil {
		return err
	}
	var said []byte
	for !bytes.Contains(said, acknowledged) {
		if len(said) > 64<<10 {
			return fmt.Errorf("the listen that is to stall is not acknowledged: %.300q", said)
		}
		piece := make([]byte, 512)
		n, err := conn.Read(piece)
		if said = append(said, piece[:n]...); err != nil {
			return fmt.Errorf("the listen that is to stall: %w after %.300q", err, said)
		}
	}
	return conn.SetDeadline(time.Time{})
}
