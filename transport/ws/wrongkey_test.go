package ws

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// farConn simulates a connection to a distant node by delaying the first read by one round-trip time.
type farConn struct {
	net.Conn
	trip time.Duration
}

func (c *farConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	time.Sleep(c.trip)
	c.trip = 0
	return n, err
}

// wrongCallers is the environment variable with the parameters for TestWrongKeyCallers, which runs in a separate
// process.
const wrongCallers = "SPADE_TEST_WRONG_KEYS"

// callers describes callers that have a wrong key, or that have the right key and misbehave. They run in a separate
// process, so that the processor time of the test process includes only the node's work.
type callers struct {
	key   string
	token bool          // they send a token of "c", a neighbor
	ask   bool          // they request a page instead of a websocket
	trip  time.Duration // round-trip time to the node
}

// TestWrongKeyCallers is not a test: it is the main function of the process that makes the calls. It runs until its
// standard input ends, and prints how many calls it made and how many of them were answered.
func TestWrongKeyCallers(t *testing.T) {
	var address, key string
	var rate int
	var token, ask bool
	var trip time.Duration
	task := os.Getenv(wrongCallers)
	if task == "" {
		t.Skip("TestWrongKeys starts it")
	}
	if _, err := fmt.Sscan(task, &address, &key, &rate, &token, &ask, (*int64)(&trip)); err != nil {
		t.Fatal(err)
	}
	cert := certificateOf(keyOf(key))
	c := &Transport{public: publicOf("c")}
	b := &peer{own: keyOf("c")}
	b.configure(peerOf("b"))
	call := func() (answered bool) {
		raw, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		defer raw.Close()
		raw.(*net.TCPConn).SetLinger(0) // reset on close, otherwise the machine runs out of ports
		raw.SetDeadline(time.Now().Add(patience))
		// Use the cheapest key exchange, because the callers and the node share the processors.
		cfg := &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{cert},
			CurvePreferences: []tls.CurveID{tls.X25519}}
		if token {
			cfg.NextProtos = c.tokens(b)
		}
		s := tls.Client(&farConn{Conn: raw, trip: trip}, cfg)
		if s.Handshake() != nil {
			return false
		}
		if ask {
			fmt.Fprint(s, "GET / HTTP/1.1\r\nHost: b\r\n\r\n")
		}
		_, err = s.Read(make([]byte, 1))
		return err == nil || strings.Contains(err.Error(), "remote error")
	}
	var over atomic.Bool
	var calls, answered atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range rate/3 + 1 { // so many distant callers at a time are needed to keep up the rate
		wg.Go(func() {
			for !over.Load() {
				n := time.Duration(calls.Add(1))
				time.Sleep(time.Until(begin.Add(n * time.Second / time.Duration(rate))))
				if call() {
					answered.Add(1)
				}
			}
		})
	}
	io.Copy(io.Discard, os.Stdin)
	over.Store(true)
	wg.Wait()
	fmt.Printf("\ncalls %d %d\n", calls.Load(), answered.Load())
}

func (c callers) start(t *testing.T, to node, rate int) (stop func() (calls, answered int)) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestWrongKeyCallers$", "-test.count=1")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %t %t %d", wrongCallers, to.listener.Addr(), c.key, rate, c.token,
		c.ask, c.trip))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() (calls, answered int) {
		in.Close()
		for s := bufio.NewScanner(out); s.Scan(); {
			fmt.Sscanf(s.Text(), "calls %d %d", &calls, &answered)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		return calls, answered
	}
}

// TestWrongKeys checks that two kinds of misbehaving callers cost little memory and time: callers that complete the
// handshake with a wrong key, and a malicious neighbor that misbehaves after sending a valid token. They must not lock
// out another neighbor that is 100 ms away, which must connect within two seconds. The following command runs a
// thousand callers of each kind per second, for ten seconds:
//
//	SPADE_WRONG_KEYS=1000 go test -run WrongKeys -v ./transport/ws
func TestWrongKeys(t *testing.T) {
	rate, last, limit := 100, 200*time.Millisecond, patience
	if s, ok := os.LookupEnv("SPADE_WRONG_KEYS"); ok {
		if _, err := fmt.Sscan(s, &rate); err != nil {
			t.Fatal(err)
		}
		last, limit = 10*time.Second, 2*time.Second
	}
	far := 100 * time.Millisecond
	cases := 1
	if long {
		cases = 2
	}
	for i, c := range []callers{
		{key: "c", token: true, ask: true},
		{key: "stranger"},
		{key: "stranger", trip: far},
		{key: "b"},
		{key: "stranger", token: true},
		{key: "stranger", token: true, trip: far},
		{key: "c", ask: true},
		{key: "c", token: true, ask: true, trip: far},
	} {
		if i >= cases && limit == patience {
			break
		}
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			b := start(t, "b", quiet, peerOf("a"), peerOf("c"))
			line := slowLine(t, b, 50*time.Millisecond)
			var longest, processor time.Duration
			if cpuTime != nil {
				processor = cpuTime()
			}
			before, begin, most := memory(), time.Now(), int64(0)
			stop := c.start(t, b, rate)
			for time.Since(begin) < last {
				time.Sleep(last / 10)
				most = max(most, memory()-before)
				from := time.Now()
				a := start(t, "a", func(c *Config) { c.timing.backoffMin = defaultTiming.backoffMin }, peerOf("b"))
				a.reach(t, "b", "wss://"+line+"/")
				a.send(t, "b", []byte("in"))
				b.expect(t, "a", []byte("in"))
				longest = max(longest, time.Since(from))
				a.Close()
			}
			took := time.Since(begin).Seconds()
			calls, answered := stop()
			if cpuTime != nil {
				processor = (cpuTime() - processor) / time.Duration(max(1, calls))
			}
			t.Logf("%.0f calls a second, %.0f answered, %v of processor time each; a neighbor was in after %v at most, memory "+
				"at most %d bytes more", float64(calls)/took, float64(answered)/took, processor, longest.Round(time.Millisecond),
				most)
			if longest > limit || most > 8<<20 || calls == 0 {
				t.Errorf("a neighbor was in after %v, want at most %v; memory has grown by %d bytes, want at most 8 MiB",
					longest, limit, most)
			}
		})
	}
}
