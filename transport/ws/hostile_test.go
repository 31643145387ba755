package ws

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// script is a connection to a simulated peer that sends prepared data and ignores everything it receives.
type script struct {
	mu     sync.Mutex
	closed bool
	at     int
	text   []byte
}

func (s *script) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, net.ErrClosed
	}
	if s.at == len(s.text) {
		return 0, io.EOF
	}
	n := copy(p, s.text[s.at:])
	s.at += n
	return n, nil
}

func (s *script) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, net.ErrClosed
	}
	return len(p), nil
}

func (s *script) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *script) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (s *script) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// request is the example request of RFC 6455, section 1.2, with this package's subprotocol.
const request = "GET / HTTP/1.1\r\nHost: b\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: " +
	subprotocol + "\r\n\r\n"

// wsFrame appends a websocket frame (RFC 6455, section 5.2) that is masked with zeros, as from the end that dialed. The
// frame's header states the given length, even if the payload has a different length.
func wsFrame(b []byte, first byte, length uint64, payload []byte) []byte {
	return append(b, frameBy(true, first, length, payload)...)
}

func frameBy(dials bool, first byte, length uint64, payload []byte) []byte {
	b := binary.BigEndian.AppendUint64([]byte{first, 127}, length)
	if dials {
		b[1] |= masked
		b = append(b, 0, 0, 0, 0)
	}
	return append(b, payload...)
}

func whole(b []byte, k kind, number uint32, body []byte) []byte {
	p := append(binary.BigEndian.AppendUint32([]byte{byte(k)}, number), body...)
	return wsFrame(b, fin|binaryFrame, uint64(len(p)), p)
}

// opening returns the bytes that a correct peer sends before frames may flow.
func opening() []byte {
	return whole(whole([]byte(request), kindHello, 0, nil), kindCredit, window, nil)
}

// play sends the bytes in text to the node on one connection from the given peer, and returns the error with which the
// connection ended.
func (n node) play(peer string, text []byte) error {
	p := n.peers[peer]
	tcp := newTCP(&script{text: text})
	tcp.countFor(&p.traffic)
	c, err := n.answer(p, link{secure: tcp, tcp: tcp, key: p.config.Load().Keys[0]})
	if err != nil {
		return err
	}
	_, err = n.serve(p, c, "script", func() {})
	return err
}

// odd contains functions that append an unusual message to b, with draw as the source of randomness. A node never sends
// these messages but must tolerate them.
var odd = []func(b []byte, draw *rand.Rand) []byte{
	func(b []byte, draw *rand.Rand) []byte { return wsFrame(b, fin|ping, 125, make([]byte, 125)) },
	func(b []byte, draw *rand.Rand) []byte { return wsFrame(b, fin|pong, 3, []byte("???")) },
	func(b []byte, draw *rand.Rand) []byte { return whole(b, kindCredit, endpoint.LargestMaxFrame, nil) },
	func(b []byte, draw *rand.Rand) []byte { return whole(b, kindCredit, 0, nil) },
	func(b []byte, draw *rand.Rand) []byte { // in fragments of one byte and of zero bytes, with pings between them
		h := putHeader(kindCredit, 0)
		b = wsFrame(b, binaryFrame, 0, nil)
		for i := range h {
			b = wsFrame(b, continuation, 1, h[i:i+1])
			b = wsFrame(b, fin|ping, 0, nil)
			b = wsFrame(b, continuation, 0, nil)
		}
		return wsFrame(b, fin|continuation, 0, nil)
	},
}

// malformed contains functions that append invalid messages to b. A node must end the connection when it receives such
// a message, with an error that contains the text in want.
var malformed = []struct {
	want string
	add  func(b []byte, draw *rand.Rand) []byte
}{
	{"message of unknown kind", func(b []byte, draw *rand.Rand) []byte {
		return whole(b, kind("\x00xFHC\xff"[draw.IntN(6)]), draw.Uint32(), nil)
	}},
	{"want at most 1000000", func(b []byte, draw *rand.Rand) []byte {
		return whole(b, kindFrame, []uint32{1_000_001, 1 << 30, 1 << 31, 1<<32 - 1}[draw.IntN(4)], nil)
	}},
	{"want at most 65536", func(b []byte, draw *rand.Rand) []byte {
		return whole(b, kindHello, endpoint.MaxHello+1+draw.Uint32N(1<<31), nil)
	}},
	{"want at most 1073741824", func(b []byte, draw *rand.Rand) []byte {
		return whole(b, kindCredit, endpoint.LargestMaxFrame+1+draw.Uint32N(1<<31), nil)
	}},
	{"message cut short: received 3 of", func(b []byte, draw *rand.Rand) []byte {
		return whole(b, kindFrame, 4+draw.Uint32N(999_996), []byte("abc"))
	}},
	{"message cut short", func(b []byte, draw *rand.Rand) []byte {
		return wsFrame(b, fin|binaryFrame, 2,
			[]byte("f\x00"))
	}},
	{"message cut short", func(b []byte, draw *rand.Rand) []byte { // between two fragments
		h := putHeader(kindFrame, 1000)
		return wsFrame(b, binaryFrame, 105, append(h[:], make([]byte, 100)...))
	}},
	{"longer than the announced 3 bytes", func(b []byte, draw *rand.Rand) []byte {
		return whole(b, kindFrame, 3,
			[]byte("four"))
	}},
	{"longer than the announced 3 bytes", func(b []byte, draw *rand.Rand) []byte {
		h := putHeader(kindFrame, 3)
		return wsFrame(b, fin|binaryFrame, 1<<62, append(h[:], "and so on"...))
	}},
	{"longer than the announced 0 bytes", func(b []byte, draw *rand.Rand) []byte {
		return whole(b, kindCredit, 1,
			[]byte("x"))
	}},
	{"received a second hello", func(b []byte, draw *rand.Rand) []byte { return whole(b, kindHello, 0, nil) }},
	{"type 0x1, want 0x2", func(b []byte, draw *rand.Rand) []byte { return wsFrame(b, fin|1, 5, []byte("hello")) }},
	{"", func(b []byte, draw *rand.Rand) []byte { // more frames than the credit allows, unless Recv is fast
		for range 2 * window {
			b = whole(b, kindFrame, 0, nil)
		}
		return b
	}},
	{"longer than 125 bytes or a fragment", func(b []byte, draw *rand.Rand) []byte { return wsFrame(b, ping, 0, nil) }},
	{"longer than 125 bytes or a fragment", func(b []byte, draw *rand.Rand) []byte {
		return wsFrame(b, fin|ping, 126+draw.Uint64N(1<<62), nil)
	}},
	{"message cut short: received 0 of 5", func(b []byte, draw *rand.Rand) []byte {
		return wsFrame(b, fin|binaryFrame, 1<<63,
			nil)
	}},
	{"type 0x42, want 0x2", func(b []byte, draw *rand.Rand) []byte { return wsFrame(b, fin|binaryFrame|0x40, 0, nil) }},
	{"type 0xb, want 0x2", func(b []byte, draw *rand.Rand) []byte { return wsFrame(b, fin|0xb, 0, nil) }},
	{"masked false, want true", func(b []byte, draw *rand.Rand) []byte { return append(b, fin|binaryFrame, 0) }},
	{"type 0x0, want 0x2", func(b []byte, draw *rand.Rand) []byte {
		return wsFrame(b, fin|continuation, 0,
			nil)
	}},
	{"type 0x2, want 0x0", func(b []byte, draw *rand.Rand) []byte {
		return wsFrame(wsFrame(b, binaryFrame, 1, []byte("f")), binaryFrame, 1, []byte("f"))
	}},
	{"the peer closed the connection: ", func(b []byte, draw *rand.Rand) []byte {
		return wsFrame(b, fin|closeFrame, 1,
			[]byte("x"))
	}},
	{"the peer closed the connection: ?", func(b []byte, draw *rand.Rand) []byte { // not UTF-8
		return wsFrame(b, fin|closeFrame, 4, []byte("\x03\xe8\xff\xfe"))
	}},
	{"", func(b []byte, draw *rand.Rand) []byte {
		for range draw.IntN(200) {
			b = append(b, byte(draw.Uint32()))
		}
		return b
	}},
}

// exchangeFrames makes two nodes send frames to each other until stop is called. stop then checks that all frames have
// arrived on a single connection.
func exchangeFrames(t *testing.T, a, b node) (stop func()) {
	t.Helper()
	end := make(chan struct{})
	var wg sync.WaitGroup
	rounds := 0
	frame := make([]byte, 1000) // short, so that frames need little memory; nobody reads its content
	wg.Go(func() {
		for {
			binary.BigEndian.PutUint64(frame, uint64(rounds))
			for _, way := range [][2]node{{a, b}, {b, a}} {
				if err := way[0].Send(t.Context(), way[1].cfg.Name, frame); err != nil {
					t.Error(err)
					return
				}
				from, got, err := way[1].Recv(t.Context())
				for err == nil && from != way[0].cfg.Name { // an empty frame of a peer that also sends malformed ones
					if len(got) > 0 {
						t.Errorf("a part of a frame has arrived from %q: %.50q", from, got)
					}
					from, got, err = way[1].Recv(t.Context())
				}
				if err != nil || from != way[0].cfg.Name || !bytes.Equal(got, frame) {
					t.Errorf("received %d bytes from %q, error %v, want the %d that %q has sent", len(got), from, err,
						len(frame), way[0].cfg.Name)
					return
				}
			}
			rounds++
			select {
			case <-end:
				return
			case <-time.After(time.Millisecond): // leaves the processors to what happens meanwhile
			}
		}
	})
	return func() {
		t.Helper()
		close(end)
		wg.Wait()
		t.Logf("%d rounds of frames meanwhile", rounds)
		if n := a.log.count("msg=connected"); n != 1 {
			t.Errorf("%d connections made, want 1", n)
		}
	}
}

// quiet discards the node's log, which would otherwise be included in memory measurements, and limits frames to 1 MB.
func quiet(c *Config) {
	c.Logger = slog.New(slog.DiscardHandler)
	c.MaxFrame = 1_000_000
}

// TestMalformedMessages checks a node whose peer sends all kinds of malformed messages. The node must end each
// connection and return the reason. Its memory must not grow, and its other peers must not be affected. To send a
// million messages:
//
//	SPADE_HOSTILE=1000000 go test -run MalformedMessages -v -timeout 10m ./transport/ws
func TestMalformedMessages(t *testing.T) {
	messages := 5_000 // every malformed kind then ends about 13 connections
	if long {
		messages = 30_000
	}
	messages = many(t, "SPADE_HOSTILE", messages)
	c := start(t, "c", quiet, peerOf("a"), peerOf("b"))
	b := start(t, "b", nil, peerOf("c"))
	b.reach(t, "c", c.Addr())
	stop := exchangeFrames(t, b, c)
	c.play("a", opening())
	draw := rand.New(rand.NewPCG(5, 6))
	before := memory()
	var most int64
	connections := 0
	for said := 0; said < messages; connections++ {
		script := opening()
		for range draw.IntN(30) {
			script = odd[draw.IntN(len(odd))](script, draw)
			said++
		}
		m := malformed[connections%len(malformed)]
		err := c.play("a", m.add(script, draw))
		said++
		// A connection may also end because the peer exceeds its credit: frames from the previous connection that still
		// wait for Recv reduce the credit of the new connection.
		if err == nil || !strings.Contains(err.Error(), m.want) && !strings.Contains(err.Error(), "more frames than the 4") {
			t.Fatalf("connection %d ended with %v, want %q", connections, err, m.want)
		}
		if connections%200 == 0 {
			most = max(most, memory()-before)
		}
	}
	stop()
	t.Logf("%d connections, memory at most %d bytes more than before", connections, most)
	// Memory may grow by the size of the frames that wait for Recv, the frame being read, and the frames in the pool.
	if want := int64((window + 1 + len(c.peers)) * c.cfg.MaxFrame); most > want {
		t.Errorf("memory has grown by %d bytes, want at most %d", most, want)
	}
}

// recorder is a connection that passes everything written to it to a writer.
type recorder struct {
	script
	io.Writer
}

func (r *recorder) Write(p []byte) (int, error) { return r.Writer.Write(p) }

// TestStrangerWithLongCertificate checks that a stranger cannot make the TLS library buffer a long certificate.
func TestStrangerWithLongCertificate(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"))
	cert := selfSigned(keyOf("stranger"))
	for range 500 {
		cert.Certificate = append(cert.Certificate, cert.Certificate[0])
	}
	secure, _, err := dialTLS(t, b, "", func(c *tls.Config) { c.Certificates = []tls.Certificate{cert} })
	if err == nil {
		secure.Read(make([]byte, 1))
	}
	b.log.await(t, "caller refused", fmt.Sprintf("the caller sent more than %d bytes without proving that "+
		"it holds a known key", unknownLimit))
}

// FuzzConnection checks a node with a peer that sends arbitrary data after the TLS handshake.
func FuzzConnection(f *testing.F) {
	draw := rand.New(rand.NewPCG(1, 1))
	for _, m := range malformed {
		f.Add(m.add(opening(), draw))
	}
	for _, o := range odd {
		f.Add(o(opening(), draw))
	}
	f.Add(whole(opening(), kindFrame, 5, []byte("whole")))
	tr, err := New(Config{Name: "b", Key: keyOf("b"), Listen: "127.0.0.1:0", Peers: []Peer{peerOf("a")}, MaxFrame: 1000,
		timing: fast})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { tr.Close() })
	n := node{Transport: tr}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := n.play("a", text); err == nil {
			t.Error("the connection has ended without a reason")
		}
		var waiting int
		n.inbox.Edit(func(q []endpoint.Item) []endpoint.Item { waiting = len(q); return q })
		for range waiting {
			if from, frame, err := n.Recv(t.Context()); err != nil || from != "a" || len(frame) > 1000 {
				t.Errorf("received %d bytes from %q, error %v", len(frame), from, err)
			}
		}
		p := n.peers["a"]
		if p.queued != 0 || p.session != nil {
			t.Errorf("%d frames queued, session %v, want none after the end", p.queued, p.session)
		}
	})
}
