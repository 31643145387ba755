//lint:file-ignore SA1019 as in dial.go

package mqtt

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

// TestConfigFaults checks that all errors in a configuration are reported at once and that no error contains a
// password.
func TestConfigFaults(t *testing.T) {
	_, err := New(Config{URL: "mqtt://joe:hidden@x", MaxFrame: -1, MaxAge: -1, Proxy: &url.URL{Scheme: "ftp"},
		Peers: []Peer{{Name: "a"}}})
	if err == nil {
		t.Fatal("no fault was found")
	}
	for _, want := range []string{"Name is empty", "Run is empty", "Key has 0 bytes", "contains a user", "MaxFrame is -1",
		"MaxAge is -1", "Proxy: ", `peer "a" has 0 keys`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing is said of %q in\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hidden") {
		t.Errorf("a password in %v", err)
	}
}

func grant(id byte, bytes int, value uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, value)
	return append([]byte{id}, b[4-bytes:]...)
}

// TestLimits checks that a node respects the limits that its broker announces: the packet length, the number of
// unconfirmed messages, and the number of topic aliases. The node must split frames into pieces that fit into a packet.
func TestLimits(t *testing.T) {
	const packet = 1000
	b := newToy(t, bytes.Join([][]byte{grant(propMaxPacket, 4, packet), grant(propReceiveMax, 2, 1), grant(propAliasMax, 2, 1)},
		nil)...).honest()
	b.aliases = 1
	a, c := brokertest.Opener(b.End).Pair(t, "run", "a", "c")
	frame := bytes.Repeat([]byte("long"), 1000)
	brokertest.Pass(t, a, "a", c, "c", frame)
	brokertest.Pass(t, c, "c", a, "a", frame)
	b.All(func(all []brokertest.Message) {
		for _, m := range all {
			if len(m.Data) > packet-maxHeader {
				t.Errorf("a message of %d bytes, want at most %d", len(m.Data), packet-maxHeader)
			}
		}
	})
	if b.counted("alias used") == 0 {
		t.Error("no topic alias was used")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, client := range b.clients {
		if client.aliases == nil || len(client.aliases) != 1 {
			t.Errorf("%s: the broker has used %d aliases, want 1", id, len(client.aliases))
		}
	}
}

// TestProbe checks that Probe distinguishes a broker with a small packet limit, a broker that sends invalid answers,
// and a broker that does not answer.
func TestProbe(t *testing.T) {
	one := brokertest.Setup{Run: "run", Name: "a", Peers: []string{"c"}, MaxFrame: 1 << 20}
	ask := func(b *toy) *Answer {
		t.Helper()
		a, err := Probe(t.Context(), b.of(one))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	good := newToy(t).honest()
	if a := ask(good); a.Err != nil || a.Pieces != 4 || a.Packet != longestPacket {
		t.Errorf("%+v", a)
	}
	good.All(func(all []brokertest.Message) {
		for _, m := range all {
			if m.To != ClientID("run", "a") {
				t.Error("a probe was heard by another")
			}
		}
	})
	narrow := newToy(t, grant(propMaxPacket, 4, 300)...)
	if a := ask(narrow); a.Err == nil || !a.Refused || !strings.Contains(a.Err.Error(), "packets of at most 300 bytes: a message of the broker's limit has no room") {
		t.Errorf("%+v", a)
	}
	unsure := newToy(t, grant(propMaxQoS, 1, 0)...)
	if a := ask(unsure); a.Err == nil || !a.Refused || !strings.HasSuffix(a.Err.Error(), "limits are too low: it supports only QoS 0, want QoS 1") {
		t.Errorf("%+v", a)
	}
	small := newToy(t, grant(propMaxPacket, 4, 1000)...).honest()
	if a := ask(small); a.Err != nil || a.Pieces != (1<<20+pieceSize(1000)-1)/pieceSize(1000) {
		t.Errorf("%+v", a)
	}
	mute := newToy(t) // delivers nothing
	if a := ask(mute); a.Err == nil || !a.Refused || !strings.Contains(a.Err.Error(), "did not deliver") {
		t.Errorf("%+v", a)
	}
	for code, want := range map[byte]string{0x87: "cannot publish on spade/", 0x95: "a frame of 1048576 bytes needs messages of up to"} {
		b := newToy(t).honest()
		b.code = code
		if a := ask(b); a.Err == nil || !a.Refused || !strings.Contains(a.Err.Error(), want) {
			t.Errorf("%x: %+v", code, a)
		}
	}
	gone := newToy(t)
	gone.listener.Close()
	if a := ask(gone); a.Err == nil || a.Refused {
		t.Errorf("%+v", a)
	}
}

// replay starts a broker and returns its URL. The broker reads the CONNECT packet of a node and then sends the bytes in
// the parameter "after".
func replay(t *testing.T, after ...[]byte) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				_, _ = readPacket(r, 1<<20)
				for _, b := range after {
					_, _ = c.Write(b)
				}
				_, _ = io.Copy(io.Discard, r)
			}()
		}
	}()
	return "mqtt://" + l.Addr().String()
}

// TestMalformed checks that a node reports an error and retries, whatever bytes a broker sends. The node must not
// allocate memory for data that the broker announces but never sends.
func TestMalformed(t *testing.T) {
	in := []byte{kindConnack << 4, 3, 0, 0, 0}
	granted := []byte{kindSuback << 4, 4, 0, 1, 0, 1}
	for name, c := range map[string]struct {
		said [][]byte
		want string
	}{
		"refused":            {[][]byte{{kindConnack << 4, 3, 0, 0x86, 0}}, "bad user name or password"},
		"MQTT 3":             {[][]byte{{kindConnack << 4, 2, 0, 1}}, "does not speak MQTT 5"},
		"no CONNACK":         {[][]byte{{kindPingresp << 4, 0}}, "not MQTT 5"},
		"five lengths":       {[][]byte{in, granted, {kindPublish << 4, 0xff, 0xff, 0xff, 0xff, 0x0f}}, "four bytes"},
		"a long length":      {[][]byte{in, granted, {kindPublish << 4, 0xff, 0xff, 0xff, 0x7f}}, "268435455 bytes, want at most"},
		"long properties":    {[][]byte{in, granted, {kindPuback << 4, 8, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}}, "not MQTT 5"},
		"property twice":     {[][]byte{{kindConnack << 4, 9, 0, 0, 6, propReceiveMax, 0, 1, propReceiveMax, 0, 1}}, "not MQTT 5"},
		"unknown alias":      {[][]byte{in, granted, {kindPublish<<4 | 2, 8, 0, 0, 0, 1, 3, propAlias, 0, 1}}, "unknown topic alias 1"},
		"QoS 2":              {[][]byte{in, granted, {kindPublish<<4 | 4, 6, 0, 1, 'x', 0, 1, 0}}, "not MQTT 5"},
		"QoS 0 granted":      {[][]byte{in, {kindSuback << 4, 4, 0, 1, 0, 0}}, "granted QoS 0"},
		"not allowed":        {[][]byte{in, {kindSuback << 4, 4, 0, 1, 0, 0x87}}, "cannot read spade/"},
		"taken over":         {[][]byte{in, granted, {kindDisconnect << 4, 1, 0x8e}}, "copy of this node"},
		"a broker's CONNECT": {[][]byte{in, granted, {kindConnect << 4, 0}}, "kind 1"},
		"nothing":            {nil, "not answer"},
		"no answer":          {[][]byte{in}, "not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configure(brokertest.Setup{Run: "run", Name: "a", Peers: []string{"c"}}, replay(t, c.said...))
			cfg.timing.connect, cfg.timing.answer = time.Second/2, time.Second/2
			tr := open(t, cfg)
			brokertest.Eventually(t, "it is said: "+c.want, func() bool {
				p := tr.Peers()[0]
				return p.Err != nil && strings.Contains(p.Err.Error(), c.want) || p.LostBy != nil && strings.Contains(p.LostBy.Error(), c.want)
			})
		})
	}
}

// TestKeepAlive checks that a connection ends if the broker is silent for one and a half keepalive intervals, but stays
// open if the broker answers pings.
func TestKeepAlive(t *testing.T) {
	b := newToy(t, grant(propKeepAlive, 2, 1)...).honest()
	a := open(t, b.of(brokertest.Setup{Run: "run", Name: "a", Peers: []string{"c"}}))
	time.Sleep(2500 * time.Millisecond)
	if p := a.Peers()[0]; p.Lost > 0 || b.counted("ping") < 2 {
		t.Errorf("%d pings, and %d connections lost: %v", b.counted("ping"), p.Lost, p.LostBy)
	}
	cfg := configure(brokertest.Setup{Run: "run", Name: "a", Peers: []string{"c"}}, replay(t,
		append([]byte{kindConnack << 4, 6, 0, 0}, append([]byte{3}, grant(propKeepAlive, 2, 1)...)...),
		[]byte{kindSuback << 4, 4, 0, 1, 0, 1}))
	cfg.timing.answer = time.Minute
	silent := open(t, cfg)
	brokertest.Eventually(t, "the silence is noticed", func() bool {
		return errors.Is(silent.Peers()[0].LostBy, errSilent)
	})
}

// TestUnconfirmed checks that if a broker never confirms a message, the node ends the connection and sends the message
// again on a new connection.
func TestUnconfirmed(t *testing.T) {
	cfg := configure(brokertest.Setup{Run: "run", Name: "a", Peers: []string{"c"}}, replay(t, []byte{kindConnack << 4, 3, 0, 0, 0},
		[]byte{kindSuback << 4, 4, 0, 1, 0, 1}))
	cfg.timing.answer = time.Second / 4
	tr := open(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := tr.Send(ctx, "c", []byte("one")); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if n := tr.Peers()[0].Lost; n < 2 {
		t.Errorf("%d connections, want more", n)
	}
}

// FuzzPackets checks that the functions that read packets neither panic nor allocate memory for missing data, whatever
// bytes a broker sends.
func FuzzPackets(f *testing.F) {
	f.Add([]byte{kindConnack << 4, 9, 0, 0, 6, propReceiveMax, 0, 1, propAliasMax, 0, 1})
	f.Add([]byte{kindPublish<<4 | 2, 9, 0, 1, 'x', 0, 1, 3, propAlias, 0, 1, 'p'})
	f.Add([]byte{kindPuback << 4, 2, 0, 1})
	f.Add([]byte{kindSuback << 4, 4, 0, 1, 0, 1})
	f.Add([]byte{kindDisconnect << 4, 6, 0x8e, 4, propReason, 0, 1, 'x'})
	f.Add([]byte{kindPuback << 4, 8, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bufio.NewReader(bytes.NewReader(b))
		for {
			p, err := readPacket(r, 1<<16)
			if err != nil {
				return
			}
			if len(p.body) > len(b) {
				t.Fatalf("%d bytes of %d", len(p.body), len(b))
			}
			if d, err := parseDelivery(p); err == nil && (len(d.payload) > len(p.body) || d.topic == "" && d.alias == 0) {
				t.Fatalf("%+v", d)
			}
			if a, err := parseReply(p); err == nil && a.err() != nil && a.err().Error() == "" {
				t.Fatal("no words")
			}
		}
	})
}

// TestPackets checks that the package can read the packets that it writes, including packets whose lengths are at the
// limits of the encoding.
func TestPackets(t *testing.T) {
	for _, n := range []int{0, 1, 127 - 20, 127, 128, 16383, 16384, 2097151 - 30} {
		payload := bytes.Repeat([]byte{1}, n)
		text := newPacket(kindPublish<<4|2, append(appendText(nil, "t"), 0, 7, 0), n)
		p, err := readPacket(bufio.NewReader(bytes.NewReader(append(text, payload...))), 1<<22)
		if err != nil {
			t.Fatal(err)
		}
		d, err := parseDelivery(p)
		if err != nil || d.topic != "t" || d.id != 7 || !bytes.Equal(d.payload, payload) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if p := pieceSize(longestPacket); p != sealed.MaxPiece {
		t.Errorf("a piece has %d bytes, want %d", p, sealed.MaxPiece)
	}
	if s := (&refusal{0x87, "no"}).Error(); s != `not authorized (reason code 0x87): "no"` {
		t.Error(s)
	}
}

// TestNoWebsocket checks that a node reports the answer of a server that refuses to open a websocket, and does not
// follow redirects.
func TestNoWebsocket(t *testing.T) {
	reached := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer elsewhere.Close()
	for path, want := range map[string]string{"/none": "404 Not Found", "/moved": "302 Found", "/other": "did not accept the websocket subprotocol mqtt"} {
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/moved":
				http.Redirect(w, r, elsewhere.URL, http.StatusFound)
			case "/other":
				if c, err := websocket.Accept(w, r, nil); err == nil {
					_ = c.CloseNow()
				}
			default:
				http.NotFound(w, r)
			}
		}))
		cfg := configure(brokertest.Setup{Run: "run", Name: "a", Peers: []string{"c"}}, "ws"+strings.TrimPrefix(front.URL, "http")+path)
		if a, err := Probe(t.Context(), cfg); err != nil || a.Err == nil || !strings.Contains(a.Err.Error(), want) {
			t.Errorf("%s: %+v, %v", path, a, err)
		}
		front.Close()
	}
	if reached {
		t.Error("a redirection was followed")
	}
}

// TestNotPermitted checks that a node whose messages the broker refuses is not connected, with the broker's reason, as
// long as the broker refuses them.
func TestNotPermitted(t *testing.T) {
	b := newToy(t).honest()
	a, c := brokertest.Opener(b.End).Pair(t, "run", "a", "c")
	brokertest.Pass(t, a, "a", c, "c", []byte("one"))
	refuse := func(code byte) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.code = code
	}
	for code, want := range map[byte]string{0x87: "cannot publish on spade/", 0x95: "too long"} {
		refuse(code)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if err := a.Send(ctx, "c", []byte{'x', code}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Send: %v, want %q", err, want)
		}
		cancel()
		if p := a.Peers()[0]; p.Connected || !strings.Contains(p.Err.Error(), want) {
			t.Errorf("%+v, want %q", p, want)
		}
		refuse(0)
		ctx, cancel = context.WithCancel(brokertest.Within(t))
		go func() {
			for ctx.Err() == nil {
				_ = a.Send(ctx, "c", []byte{'y', code})
				time.Sleep(20 * time.Millisecond)
			}
		}()
		for arrived := ""; arrived != string([]byte{'y', code}); { // what Send could not confirm may arrive before it
			_, frame, err := c.Recv(ctx)
			if err != nil {
				t.Fatal(err)
			}
			arrived = string(frame)
		}
		brokertest.Eventually(t, "the broker stores messages again", func() bool { return a.Peers()[0].Connected })
		cancel()
	}
}

// TestUndelivered checks that a node to which the broker delivers nothing is not connected, with the reason, until a
// message arrives.
func TestUndelivered(t *testing.T) {
	b := newToy(t)
	cfg := b.of(brokertest.Setup{Run: "run", Name: "a", Peers: []string{"c"}})
	cfg.timing.answer = 100 * time.Millisecond
	a := open(t, cfg)
	brokertest.Eventually(t, "the silence is noticed", func() bool {
		p := a.Peers()[0]
		return !p.Connected && p.Err != nil && strings.Contains(p.Err.Error(), "did not deliver a test message")
	})
	b.honest()
	brokertest.Eventually(t, "the next message arrives", func() bool { return a.Peers()[0].Connected })
	b.All(func(all []brokertest.Message) {
		for _, m := range all {
			if m.From == m.To && m.To != ClientID("run", "a") {
				t.Error("a test message is for another")
			}
		}
	})
}
