package mqtt

import (
	"bufio"
	"encoding/binary"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
)

// quick is the timing for tests with a broker on the same machine.
var quick = timing{
	connect: 5 * time.Second, keepAlive: 5 * time.Second, answer: 5 * time.Second, steady: 100 * time.Millisecond,
	backoffMin: 10 * time.Millisecond, backoffMax: 200 * time.Millisecond, repeatMin: 100 * time.Millisecond,
	repeatMax: time.Second,
}

// toy is a broker that the test controls. It confirms each message that a member publishes and passes the message to
// the function in its field "do".
type toy struct {
	t        testing.TB
	listener net.Listener
	grants   []byte // properties of the CONNACK
	aliases  int    // topic aliases that it uses for messages to clients
	code     byte   // reason code of each PUBACK

	mu      sync.Mutex
	clients map[string]*toyClient // by client id; includes sessions of absent clients
	all     []brokertest.Message  // with the tag of the run in the field Place
	seen    map[string]int        // how often each kind of event occurred, see the method count

	doing sync.Mutex // held while do runs; guards do
	do    func(m brokertest.Message)
}

type toyClient struct {
	conn    net.Conn // nil while the client is away
	filters []string
	queue   []brokertest.Message
	aliases map[string]uint16
	id      uint16
	pending int // messages that the client has not confirmed
	most    int // maximum of the field pending
}

func newToy(t testing.TB, grants ...byte) *toy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &toy{t: t, listener: l, grants: grants, clients: map[string]*toyClient{}, seen: map[string]int{}}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { b.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		b.HangUp()
		work.Wait()
	})
	return b
}

func (b *toy) url() string { return "mqtt://" + b.listener.Addr().String() }

func (b *toy) HangUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.clients {
		if c.conn != nil {
			c.conn.Close()
		}
	}
}

func (b *toy) count(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen[what]++
}

func (b *toy) counted(what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen[what]
}

func (b *toy) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	p, err := readPacket(r, 1<<20)
	if err != nil || p.kind != kindConnect {
		return
	}
	in := cursor{b: p.body}
	in.take(10)
	in.properties()
	id := in.text()
	b.mu.Lock()
	me, known := b.clients[id]
	if !known {
		me = &toyClient{}
		b.clients[id] = me
	}
	if me.conn != nil {
		me.conn.Close()
	}
	me.conn, me.aliases, me.pending = c, map[string]uint16{}, 0
	body := append([]byte{0, 0}, appendLength(nil, len(b.grants))...)
	if known {
		body[0] = 1
	}
	_, _ = c.Write(newPacket(kindConnack<<4, append(body, b.grants...), 0))
	for _, m := range me.queue {
		b.send(me, m)
	}
	me.queue = nil
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if me.conn == c {
			me.conn = nil
		}
	}()
	topics := map[uint16]string{}
	for {
		p, err := readPacket(r, 1<<20)
		if err != nil || p.kind == kindDisconnect {
			return
		}
		in := cursor{b: p.body}
		switch p.kind {
		case kindPingreq:
			b.count("ping")
			_, _ = c.Write([]byte{kindPingresp << 4, 0})
		case kindPuback:
			b.mu.Lock()
			me.pending--
			b.mu.Unlock()
		case kindSubscribe:
			id := in.take(2)
			in.properties()
			b.mu.Lock()
			me.filters = append(me.filters, in.text())
			b.mu.Unlock()
			_, _ = c.Write(newPacket(kindSuback<<4, append(slices.Clone(id), 0, 1), 0))
		case kindPublish:
			d, err := parseDelivery(p)
			if err != nil {
				b.t.Errorf("a member has sent: %v", err)
				return
			}
			if d.topic == "" {
				d.topic = topics[d.alias]
				b.count("alias used")
			} else if d.alias > 0 {
				topics[d.alias] = d.topic
			}
			parts := strings.Split(d.topic, "/")
			m := brokertest.Message{From: parts[2], To: parts[3], Place: parts[1], Data: slices.Clone(d.payload)}
			b.mu.Lock()
			code := b.code
			if code < 0x80 {
				b.all = append(b.all, m)
			}
			b.mu.Unlock()
			b.doing.Lock()
			if code < 0x80 && b.do != nil {
				b.do(m)
			}
			b.doing.Unlock()
			_, _ = c.Write(newPacket(kindPuback<<4, append(binary.BigEndian.AppendUint16(nil, d.id), code), 0))
		}
	}
}

// Give delivers a message to its receiver.
func (b *toy) Give(m brokertest.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.clients {
		for _, f := range c.filters {
			if f != topic(m.Place, "+", m.To) {
				continue
			}
			if c.conn == nil {
				c.queue = append(c.queue, m)
			} else {
				b.send(c, m)
			}
			break
		}
	}
}

// send sends a message to a client in a PUBLISH packet. If the topic has an alias, the packet contains the alias.
func (b *toy) send(c *toyClient, m brokertest.Message) {
	c.id = max(1, c.id+1)
	if c.pending++; c.pending > c.most {
		c.most = c.pending
	}
	at := topic(m.Place, m.From, m.To)
	var props []byte
	alias, known := c.aliases[at]
	if !known && len(c.aliases) < b.aliases {
		alias = uint16(len(c.aliases) + 1)
		c.aliases[at] = alias
	}
	if known {
		at = ""
	}
	if alias > 0 {
		props = binary.BigEndian.AppendUint16([]byte{propAlias}, alias)
	}
	body := binary.BigEndian.AppendUint16(appendText(nil, at), c.id)
	body = append(append(append(body, byte(len(props))), props...), m.Data...)
	_, _ = c.conn.Write(newPacket(kindPublish<<4|1<<1, body, 0))
}

func (b *toy) Set(do func(m brokertest.Message)) {
	b.doing.Lock()
	defer b.doing.Unlock()
	b.do = do
}

func (b *toy) All(see func(all []brokertest.Message)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	see(b.all)
}

func (b *toy) honest() *toy { b.Set(b.Give); return b }

func (b *toy) of(s brokertest.Setup) Config { return configure(s, b.url()) }

func (b *toy) End(s brokertest.Setup) (brokertest.End, error) { return New(b.of(s)) }

// configure returns a transport configuration with the settings in s.
func configure(s brokertest.Setup, url string) Config {
	cfg := Config{Name: s.Name, Key: s.Secret(), Peers: s.Neighbors(), Run: s.Run, URL: url, Fleet: s.Fleet, Hello: s.Hello,
		CheckHello: s.CheckHello, MaxFrame: s.MaxFrame, Logger: s.Logger, timing: quick}
	if s.Way != nil {
		cfg.direct = s.Way.DialContext
	}
	return cfg
}

type hostile struct{ *toy }

// End opens a transport that repeats frames often, because the hostile broker drops many of them.
func (h hostile) End(s brokertest.Setup) (brokertest.End, error) {
	cfg := h.of(s)
	cfg.timing.repeatMax = 200 * time.Millisecond
	return New(cfg)
}
