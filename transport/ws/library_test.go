//go:build !js

package ws

//lint:file-ignore SA1019 as in conn.go

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"

	"nhooyr.io/websocket"
)

// TestLibraryAsPeer checks that this package and the websocket library understand each other: a peer that uses the library
// sends frames whole and in fragments, receives frames, and meanwhile sends pings. At the end it receives a close frame.
func TestLibraryAsPeer(t *testing.T) {
	const frames = 30
	b := start(t, "b", nil, peerOf("a"))
	secure, _, err := dialTLS(t, b, "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	same := &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return secure, nil }}
	ws, _, err := websocket.Dial(t.Context(), b.Addr(), &websocket.DialOptions{HTTPClient: &http.Client{Transport: same},
		Subprotocols: []string{subprotocol}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	ws.SetReadLimit(1 << 20)
	frame := make([]byte, 320_001)
	draw := rand.NewPCG(1, 2)
	for i := range frame {
		frame[i] = byte(draw.Uint64())
	}
	put := func(k kind, number int, body []byte, pieces int) {
		h := putHeader(k, number)
		w, err := ws.Writer(t.Context(), websocket.MessageBinary)
		if err != nil {
			t.Fatal(err)
		}
		for piece := range slices.Chunk(append(h[:], body...), (headerLen+len(body)+pieces-1)/pieces) {
			if _, err := w.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	put(kindHello, 0, nil, 1)
	put(kindCredit, frames, nil, 5)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1) // receives the result of the first ping
	wg.Go(func() {
		for i := range frames {
			if i == frames-1 {
				if err := <-answered; err != nil {
					t.Errorf("the first ping: %v", err)
				}
			}
			if err := b.Send(patient(t), "a", frame); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		err := ws.Ping(patient(t))
		answered <- err
		for err == nil {
			err = ws.Ping(ctx)
		}
	})
	got := 0
	for err == nil && got < frames {
		var text []byte
		if _, text, err = ws.Read(t.Context()); err == nil && text[0] == byte(kindFrame) {
			if !bytes.Equal(text[headerLen:], frame) {
				t.Fatalf("frame %d is not what was sent", got)
			}
			got++
		}
	}
	if err != nil {
		t.Errorf("%d frames, error %v", got, err)
	}
	for pieces := 1; pieces < 12; pieces += 3 {
		put(kindFrame, len(frame), frame, pieces)
		b.expect(t, "a", frame)
	}
	wg.Go(func() { b.Close() })
	for err == nil {
		_, _, err = ws.Read(t.Context())
	}
	if websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("error %v, want a close frame", err)
	}
	cancel()
	wg.Wait()
}
