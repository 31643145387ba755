package mqtt

import (
	"crypto/ed25519"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// line is a TCP proxy that simulates a bad network link. Each segment arrives after a delay. A lost segment, and all
// data after it, is delayed by another two round trips, which is about the time that TCP needs to retransmit.
type line struct {
	net.Listener
	to          string
	delay       time.Duration // one way
	loss        float64
	lost, bytes atomic.Int64 // lost segments, and bytes in both directions
	segments    atomic.Int64
}

const segment = 1400

func newLine(t testing.TB, to string, delay time.Duration, loss float64) *line {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &line{Listener: l, to: to, delay: delay, loss: loss}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				time.Sleep(2 * delay) // as long as the handshake of TCP takes
				far, err := net.Dial("tcp", n.to)
				if err != nil {
					return
				}
				defer far.Close()
				var both sync.WaitGroup
				both.Go(func() { n.carry(far, c) })
				both.Go(func() { n.carry(c, far) })
				both.Wait()
			}()
		}
	}()
	return n
}

// carry forwards the segments of one direction.
func (n *line) carry(to, from net.Conn) {
	type piece struct {
		b  []byte
		at time.Time
	}
	pieces := make(chan piece, 1000)
	go func() {
		defer close(pieces)
		var last time.Time
		for {
			b := make([]byte, segment)
			m, err := from.Read(b)
			if err != nil {
				return
			}
			n.bytes.Add(int64(m))
			n.segments.Add(1)
			at := time.Now().Add(n.delay)
			if rand.Float64() < n.loss {
				n.lost.Add(1)
				at = at.Add(4 * n.delay)
			}
			if at.Before(last) {
				at = last
			}
			last = at
			pieces <- piece{b[:m], at}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.at))
		if _, err := to.Write(p.b); err != nil {
			break
		}
	}
	to.Close()
	from.Close()
	_, _ = io.Copy(io.Discard, from)
}

// TestMosquittoBytes checks that a frame takes as many bytes on the network as the command "spade-edge plan" estimates.
// TCP and IP headers are excluded, because the test cannot see them.
func TestMosquittoBytes(t *testing.T) {
	b := newMosquitto(t, "tls")
	l := newLine(t, strings.TrimPrefix(b.url(), "tls://"), 0, 0)
	b.before = func(cfg *Config) { cfg.URL = "tls://" + l.Addr().String() }
	a, c := brokertest.Opener(b.End).Pair(t, "bytes", "a", "c")
	frame := make([]byte, 200)
	brokertest.Pass(t, a, "a", c, "c", frame)
	time.Sleep(100 * time.Millisecond) // repeated messages arrive in the meantime
	for len(c.Opened()) > 0 {
		<-c.Opened()
	}
	before, n := l.bytes.Load(), 100
	for i := range n {
		frame = append([]byte{byte(i)}, frame[1:]...)
		brokertest.Send(t, a, "c", frame)
		for from, got, err := c.Recv(brokertest.Within(t)); got[0] != byte(i); from, got, err = c.Recv(brokertest.Within(t)) {
			if err != nil || from != "a" {
				t.Fatal(from, err)
			}
		}
	}
	took := float64(l.bytes.Load()-before)/float64(n)/2 - float64(len(frame)) // in both directions
	want := broker.Overhead - 3*40.0
	t.Logf("%.0f bytes beside a frame, each way", took)
	if took < 0.9*want || took > 1.15*want {
		t.Errorf("a frame takes %.0f bytes beside its own, each way, want about %.0f", took, want)
	}
}

// TestRoundsOverBadLine measures the rounds per minute over bad links, once through a broker and once over direct
// websockets. It runs only if the environment variable SPADE_LINE is set. Every device has a link with a round-trip
// time of 500 ms that loses 1% of the segments. A direct connection between two devices crosses two such links; a
// connection to the broker crosses one.
func TestRoundsOverBadLine(t *testing.T) {
	if os.Getenv("SPADE_LINE") == "" {
		t.Skip("takes two minutes: SPADE_LINE=1")
	}
	const delay, loss, rounds = 250 * time.Millisecond, 0.01, 24
	run := func(name string, open brokertest.Opener) {
		n := brokertest.Ring(name, 5, true, rounds)
		want, _ := n.Quiet(t)
		var began atomic.Int64
		got, _, err := n.Run(brokertest.Long(t), n.Open(t, open), func(_, round int) {
			if round == 1 {
				began.CompareAndSwap(0, time.Now().UnixNano())
			}
		})
		if err != nil || got != want {
			t.Fatal(err, got == want)
		}
		took := time.Since(time.Unix(0, began.Load()))
		t.Logf("%s: %.1f rounds a minute", name, float64(rounds+rounds/2-1)/took.Minutes())
	}
	b := newMosquitto(t, "tls")
	l := newLine(t, strings.TrimPrefix(b.url(), "tls://"), delay, loss)
	b.before = func(cfg *Config) { cfg.URL, cfg.timing = "tls://"+l.Addr().String(), defaultTiming }
	run("MQTT", b.End)

	addresses := map[string]*line{}
	listen := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		c, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listen[name] = c.Addr().String()
		c.Close()
		addresses[name] = newLine(t, listen[name], 2*delay, 1-(1-loss)*(1-loss))
	}
	run("websockets", func(s brokertest.Setup) (brokertest.End, error) {
		cfg := ws.Config{Name: s.Name, Key: s.Secret(), Listen: listen[s.Name], Hello: s.Hello, CheckHello: s.CheckHello,
			MaxFrame: s.MaxFrame}
		for _, p := range s.Peers {
			cfg.Peers = append(cfg.Peers, ws.Peer{Name: p, Keys: []ed25519.PublicKey{brokertest.Public(p)},
				Addresses: []string{"wss://" + addresses[p].Addr().String() + "/"}})
		}
		return ws.New(cfg)
	})
}
