package ws

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

// many returns how often a test repeats its steps: the number in the named environment variable if it is set, and
// otherwise the parameter few.
func many(t *testing.T, variable string, few int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// descriptors returns the number of files that this process has open, or 0 if the number is unknown.
func descriptors() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}

// steady waits until the process has at most two more goroutines and at most two more open files than the given
// numbers.
func steady(t *testing.T, goroutines, files int) {
	t.Helper()
	for range 400 {
		if runtime.NumGoroutine() <= goroutines+2 && descriptors() <= files+2 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%d goroutines and %d descriptors are left of %d and %d",
		runtime.NumGoroutine(), descriptors(), goroutines, files)
}

// places returns two addresses on which no process is listening.
func places(t *testing.T) (at [2]string) {
	t.Helper()
	for i := range at {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		at[i] = l.Addr().String()
	}
	return at
}

// endOf creates a transport with one peer. The caller must close it.
func endOf(name, listen, peer, peerAt string, change func(*Config)) (*Transport, error) {
	p := peerOf(peer)
	if peerAt != "" {
		p.Addresses = []string{"wss://" + peerAt + "/"}
	}
	cfg := Config{Name: name, Key: keyOf(name), Listen: listen, Peers: []Peer{p}, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

// couple returns the names of two members. The names, and thus the keys, are different for each i and each process.
// This prevents a node from mistaking another process for the peer if that process reuses a port that was briefly
// free.
func couple(i int) []string {
	id := fmt.Sprint(os.Getpid(), "-", i)
	return []string{"a" + id, "b" + id}
}

// stream sends numbered frames to a peer and checks that the peer's frames arrive exactly once and in order.
func stream(ctx context.Context, tr *Transport, to string, frames int) error {
	sent := make(chan error, 1)
	go func() {
		for i := range uint32(frames) {
			if err := tr.Send(ctx, to, binary.BigEndian.AppendUint32(nil, i)); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for i := range uint32(frames) {
		_, b, err := tr.Recv(ctx)
		if err != nil {
			return err
		}
		if got := binary.BigEndian.Uint32(b); got != i {
			return fmt.Errorf("%s: frame %d has come, want %d", tr.cfg.Name, got, i)
		}
	}
	return <-sent
}

// TestCrossing starts two nodes that dial each other at the same time. It checks that one connection remains and is
// never replaced, and that no frame is lost or duplicated. Of every 15 pairs, two have only one address, and in two
// one node starts after some failed attempts of the other. For a long run: SPADE_CROSSINGS=100000 go test ./transport/ws
// -run TestCrossing -timeout 0
func TestCrossing(t *testing.T) {
	goroutines, files := runtime.NumGoroutine(), descriptors()
	crossed := 0
	for i := range many(t, "SPADE_CROSSINGS", 60) {
		at := places(t)
		var ends [2]*Transport
		var errs [2]error
		var wg sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		begin := make(chan struct{})
		names, dials := couple(i), at
		if i%15 < 2 {
			dials[i%15] = ""
		}
		var logs [2]*logbook
		for j, name := range names {
			logs[j] = newLogbook()
			delay := time.Duration(rand.N(300)) * time.Microsecond
			if i%15 == j+2 {
				delay = rand.N(3 * fast.backoffMax)
			}
			wg.Go(func() {
				<-begin
				time.Sleep(delay)
				ends[j], errs[j] = endOf(name, at[j], names[1-j], dials[1-j], func(c *Config) {
					c.timing = fast
					c.Logger = slog.New(slog.NewTextHandler(logs[j], &slog.HandlerOptions{Level: slog.LevelDebug}))
				})
				if errs[j] != nil {
					cancel() // another process took the port, so the other end waits in vain
				} else {
					errs[j] = stream(ctx, ends[j], names[1-j], 20)
				}
			})
		}
		close(begin)
		wg.Wait()
		cancel()
		for j, end := range ends {
			if ends[0] == nil || ends[1] == nil {
				t.Logf("left out: %v", errs[j])
				continue
			}
			if errs[j] != nil {
				t.Errorf("crossing %d: %v", i, errs[j])
				continue
			}
			if st := end.Peers()[0]; !st.Connected || st.Lost != 0 {
				t.Errorf("crossing %d: %s has %+v, want one connection and none lost", i, end.cfg.Name, st)
			}
		}
		if ends[0] != nil && ends[1] != nil {
			if ends[0].Peers()[0].How == ends[1].Peers()[0].How {
				t.Errorf("crossing %d: both ends have dialed, or none", i)
			}
			if ends[0].Peers()[0].How == "accepted" {
				crossed++
			}
		}
		var closing sync.WaitGroup
		for _, end := range ends {
			if end != nil {
				closing.Go(func() { end.Close() })
			}
		}
		closing.Wait()
		if t.Failed() {
			t.Logf("%.5000s\n%.5000s", &logs[0].text, &logs[1].text)
			break
		}
	}
	t.Logf("the higher end's connection was used %d times", crossed)
	steady(t, goroutines, files)
}

// TestRestartIsMet restarts the two nodes in turn while the node that keeps running still has the old connection. After
// each restart, frames must flow again.
func TestRestartIsMet(t *testing.T) {
	at := places(t)
	var ends [2]*Transport
	names := couple(0)
	open := func(j int) {
		var err error
		if ends[j], err = endOf(names[j], at[j], names[1-j], at[1-j],
			func(c *Config) { c.timing = fast }); err != nil {
			t.Skip(err) // another process took the port
		}
	}
	open(0)
	open(1)
	defer func() { ends[0].Close(); ends[1].Close() }()
	for i := range 10 {
		var both sync.WaitGroup
		for j := range ends {
			both.Go(func() {
				if err := stream(patient(t), ends[j], names[1-j], 5); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if t.Failed() {
			return
		}
		ends[i%2].Close()
		open(i % 2)
		for ends[1-i%2].Peers()[0].Lost == 0 { // until the loss is noticed: a frame sent earlier may be lost
			time.Sleep(100 * time.Microsecond)
		}
	}
}
