package ws

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// script is a connection to a simulated peer that sends prepared data and records what it receives in the field sent,
// unless that is nil.
type script struct {
	net.Conn // for deadlines and addresses
	text     *bytes.Reader
	sent     *bytes.Buffer
	closed   atomic.Bool
}

func scripted(text []byte, sent *bytes.Buffer) *script {
	return &script{Conn: closedConn(), text: bytes.NewReader(text), sent: sent}
}

func (s *script) Read(p []byte) (int, error) {
	if s.closed.Load() {
		return 0, net.ErrClosed
	}
	return s.text.Read(p)
}

func (s *script) Write(p []byte) (int, error) {
	if s.closed.Load() {
		return 0, net.ErrClosed
	}
	if s.sent != nil {
		s.sent.Write(p)
	}
	return len(p), nil
}

func (s *script) Close() error {
	s.closed.Store(true)
	return nil
}

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
	tcp := newTCP(scripted(text, nil))
	tcp.countFor(&p.traffic)
	c, err := n.answer(p, link{secure: tcp, tcp: tcp, key: p.config.Load().Keys[0]})
	if err != nil {
		return err
	}
	_, err = n.serve(p, c, "script", func() {})
	return err
}

// odd are unusual messages. A node never sends them but must tolerate them.
var odd = [][]byte{
	wsFrame(nil, fin|ping, 125, make([]byte, 125)),
	wsFrame(nil, fin|pong, 3, []byte("???")),
	whole(nil, kindCredit, endpoint.LargestMaxFrame, nil),
	whole(nil, kindCredit, 0, nil),
	inShreds(kindCredit),
}

// inShreds returns a message in fragments of one byte and of zero bytes, with pings between them.
func inShreds(k kind) []byte {
	h := putHeader(k, 0)
	b := wsFrame(nil, binaryFrame, 0, nil)
	for i := range h {
		b = wsFrame(b, continuation, 1, h[i:i+1])
		b = wsFrame(b, fin|ping, 0, nil)
		b = wsFrame(b, continuation, 0, nil)
	}
	return wsFrame(b, fin|continuation, 0, nil)
}

// malformed has invalid messages, each with a source of randomness. A node must end the connection when it receives such a
// message, with an error that contains the text in want.
var malformed = []struct {
	want string
	make func(draw *rand.Rand) []byte
}{
	{"message of unknown kind", func(draw *rand.Rand) []byte {
		return whole(nil, kind("\x00xFHC\xff"[draw.IntN(6)]), draw.Uint32(), nil)
	}},
	{"want at most 1000000", func(draw *rand.Rand) []byte {
		return whole(nil, kindFrame, []uint32{1_000_001, 1 << 30, 1 << 31, 1<<32 - 1}[draw.IntN(4)], nil)
	}},
	{"want at most 65536", func(draw *rand.Rand) []byte {
		return whole(nil, kindHello, endpoint.MaxHello+1+draw.Uint32N(1<<31), nil)
	}},
	{"want at most 1073741824", func(draw *rand.Rand) []byte {
		return whole(nil, kindCredit, endpoint.LargestMaxFrame+1+draw.Uint32N(1<<31), nil)
	}},
	{"message cut short: received 3 of", func(draw *rand.Rand) []byte {
		return whole(nil, kindFrame, 4+draw.Uint32N(999_996), []byte("abc"))
	}},
	{"longer than 125 bytes or a fragment", func(draw *rand.Rand) []byte {
		return wsFrame(nil, fin|ping, 126+draw.Uint64N(1<<62), nil)
	}},
	{"", func(draw *rand.Rand) (b []byte) {
		for range draw.IntN(200) {
			b = append(b, byte(draw.Uint32()))
		}
		return b
	}},
	{"message cut short", always(wsFrame(nil, fin|binaryFrame, 2, []byte("f\x00")))},
	{"message cut short", always(wsFrame(nil, binaryFrame, 105, begun(1000, make([]byte, 100))))}, // between two fragments
	{"message cut short: received 0 of 5", always(wsFrame(nil, fin|binaryFrame, 1<<63, nil))},
	{"the connection ended without a reason", always([]byte{fin | binaryFrame, masked | 126, 0})},
	{"the connection ended without a reason", always(wsFrame(nil, binaryFrame, 8, begun(3, []byte("abc"))))}, // no last fragment
	{"EOF", always(wsFrame(nil, fin|ping, 5, nil))},
	{"longer than the announced 3 bytes", always(whole(nil, kindFrame, 3, []byte("four")))},
	{"longer than the announced 3 bytes", always(wsFrame(nil, fin|binaryFrame, 1<<62, begun(3, []byte("and so on"))))},
	{"longer than the announced 0 bytes", always(whole(nil, kindCredit, 1, []byte("x")))},
	{"received a second hello", always(whole(nil, kindHello, 0, nil))},
	{"", always(bytes.Repeat(whole(nil, kindFrame, 0, nil), 2*window))}, // more than the credit allows, unless Recv is fast
	{"longer than 125 bytes or a fragment", always(wsFrame(nil, ping, 0, nil))},
	{"type 0x1, want 0x2", always(wsFrame(nil, fin|1, 5, []byte("hello")))},
	{"type 0x42, want 0x2", always(wsFrame(nil, fin|binaryFrame|0x40, 0, nil))},
	{"type 0xb, want 0x2", always(wsFrame(nil, fin|0xb, 0, nil))},
	{"type 0x0, want 0x2", always(wsFrame(nil, fin|continuation, 0, nil))},
	{"type 0x2, want 0x0", always(bytes.Repeat(wsFrame(nil, binaryFrame, 1, []byte("f")), 2))},
	{"masked false, want true", always([]byte{fin | binaryFrame, 0})},
	{"the peer closed the connection: ", always(wsFrame(nil, fin|closeFrame, 1, []byte("x")))},
	{"the peer closed the connection: ?", always(wsFrame(nil, fin|closeFrame, 4, []byte("\x03\xe8\xff\xfe")))}, // not UTF-8
}

func always(message []byte) func(*rand.Rand) []byte {
	return func(*rand.Rand) []byte { return message }
}

// begun returns the header of a message with a frame of the given length, and the bytes that follow it.
func begun(length int, body []byte) []byte {
	h := putHeader(kindFrame, length)
	return append(h[:], body...)
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
				if err != nil || !bytes.Equal(got, frame) {
					t.Errorf("received %d bytes from %q, error %v, want the %d that were sent", len(got), from, err, len(frame))
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
			script = append(script, odd[draw.IntN(len(odd))]...)
			said++
		}
		m := malformed[connections%len(malformed)]
		err := c.play("a", append(script, m.make(draw)...))
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
		f.Add(append(opening(), m.make(draw)...))
	}
	for _, o := range odd {
		f.Add(append(opening(), o...))
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
