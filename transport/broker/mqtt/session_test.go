package mqtt

import (
	"bufio"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
)

// TestMosquittoWakes simulates a device that wakes 24 times, executes a round each time, and sleeps. In one subtest the
// device is suspended; in the other a new process starts each time it wakes. The neighbors repeat their frames while
// the device sleeps, so the test logs the maximum number of bytes that the device received in one waking period.
func TestMosquittoWakes(t *testing.T) {
	for name, restart := range map[string]bool{"suspended": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			b := newMosquitto(t)
			n, most := wakes(t, restart, 50*time.Millisecond, b.End)
			if n < 24 {
				t.Errorf("%d wakes, want 24", n)
			}
			t.Logf("%d wakes, at most %d bytes received in one", n, most)
		})
	}
}

// TestMosquittoRepeats checks that each repeat of a frame for a sleeping member expires when the next repeat may be
// sent. The broker must keep only the first copy (until MaxAge) and the latest repeat.
func TestMosquittoRepeats(t *testing.T) {
	b := newMosquitto(t)
	setup := brokertest.Setup{Run: "run", Name: "c", Peers: []string{"a"}}
	c := open(t, b.of(setup))
	brokertest.Eventually(t, "c is known", func() bool { return c.Peers()[0].Connected })
	_ = c.Close()
	a := open(t, b.of(brokertest.Setup{Run: "run", Name: "a", Peers: []string{"c"}}))
	brokertest.Eventually(t, "the hello is out", func() bool { return a.Peers()[0].Sent > 0 })
	size := a.Peers()[0].Sent // bytes of the hello; a short frame has as many
	for began := time.Now(); time.Since(began) < time.Second; time.Sleep(time.Millisecond) {
		brokertest.Send(t, a, "c", nil)
	}
	// The intervals between repeats start at repeatMin and double, so repeats are sent after 0.1, 0.3 and 0.7 seconds.
	if again := a.Peers()[0].Sent/size - 2; again > 4 || again < 2 {
		t.Errorf("%d times in a second, want 3", again)
	}
	time.Sleep(quick.repeatMax + 2*time.Second)
	c = open(t, b.of(setup))
	brokertest.Receive(t, c, "a", nil)
	brokertest.Nothing(t, c)
	if n := c.Peers()[0].Received / size; n > 3 {
		t.Errorf("%d messages came, want a hello, a frame, and the answer to c's hello", n)
	}
}

// TestMosquittoSessionEnds checks that if the broker ends a member's session, the member creates a new session, and the
// member's peer is notified through Opened.
func TestMosquittoSessionEnds(t *testing.T) {
	b := newMosquitto(t, "log_type all")
	b.before = func(cfg *Config) { cfg.MaxAge = time.Second }
	var way brokertest.Way
	a := open(t, b.of(brokertest.Setup{Run: "run", Name: "a", Peers: []string{"c"}, Way: &way}))
	c := open(t, b.of(brokertest.Setup{Run: "run", Name: "c", Peers: []string{"a"}}))
	brokertest.Pass(t, a, "a", c, "c", []byte("one"))
	way.Set(true)
	brokertest.Eventually(t, "the session expires", func() bool { return strings.Contains(b.said.String(), "Expiring client") })
	for len(c.Opened()) > 0 {
		<-c.Opened()
	}
	way.Set(false)
	select {
	case <-c.Opened(): // c is informed, so that it can send lost frames again at once
	case <-time.After(brokertest.Soon):
		t.Error("nobody says that a is there again")
	}
	brokertest.Pass(t, c, "c", a, "a", []byte("two"))
}

// middle is a proxy in front of a broker. It confirms some messages from members and then drops them, and it delivers
// some messages to members twice.
type middle struct {
	to    string
	mu    sync.Mutex // guards the fields below
	drop  float64    // fraction of the members' messages
	twice float64    // fraction of the messages to members
	count map[string]int
}

func newMiddle(t *testing.T, to string, drop, twice float64) (m *middle, url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m = &middle{to: to, drop: drop, twice: twice, count: map[string]int{}}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go m.serve(c)
		}
	}()
	return m, "mqtt://" + l.Addr().String()
}

func (m *middle) chance(what string, p float64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count["all "+what]++
	if rand.Float64() >= p {
		return false
	}
	m.count[what]++
	return true
}

func (m *middle) serve(member net.Conn) {
	defer member.Close()
	broker, err := net.Dial("tcp", m.to)
	if err != nil {
		return
	}
	defer broker.Close()
	var mu sync.Mutex // guards writes to the member, and the variable extra
	extra := map[string]int{}
	go func() {
		defer member.Close()
		for r := bufio.NewReader(broker); ; {
			p, err := readPacket(r, 1<<20)
			if err != nil {
				return
			}
			text := newPacket(p.kind<<4|p.flags, p.body, 0)
			mu.Lock()
			if d, err := parseDelivery(p); p.kind == kindPublish && err == nil && m.chance("repeated", m.twice) {
				extra[string([]byte{byte(d.id >> 8), byte(d.id)})]++
				_, _ = member.Write(text)
			}
			_, _ = member.Write(text)
			mu.Unlock()
		}
	}()
	for r := bufio.NewReader(member); ; {
		p, err := readPacket(r, 1<<20)
		if err != nil {
			return
		}
		d, err := parseDelivery(p)
		switch {
		case p.kind == kindPublish && err == nil && m.chance("dropped", m.drop):
			mu.Lock()
			_, _ = member.Write([]byte{kindPuback << 4, 2, byte(d.id >> 8), byte(d.id)})
			mu.Unlock()
			continue
		case p.kind == kindPuback:
			mu.Lock()
			id := string(p.body[:2])
			swallow := extra[id] > 0
			if extra[id]--; extra[id] <= 0 {
				delete(extra, id)
			}
			mu.Unlock()
			if swallow {
				continue
			}
		}
		_, _ = broker.Write(newPacket(p.kind<<4|p.flags, p.body, 0))
	}
}

// TestMosquittoDropsAndRepeats runs members over a broker that drops every tenth message and delivers every tenth
// message twice.
func TestMosquittoDropsAndRepeats(t *testing.T) {
	b := newMosquitto(t)
	m, url := newMiddle(t, strings.TrimPrefix(b.url(), "mqtt://"), 0.1, 0.1)
	b.before = func(cfg *Config) { cfg.URL = url }
	same(t, "drops", b.End, nil)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.count["dropped"] == 0 || m.count["repeated"] == 0 {
		t.Errorf("nothing was dropped or repeated: %v", m.count)
	}
	t.Log(m.count)
}
