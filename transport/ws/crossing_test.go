package ws

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
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

// TestCrossing makes two nodes dial each other at the same time. It checks that one connection remains and is never
// replaced, and that no frame is lost or duplicated. Of every 15 pairs, only one node dials in two, and one node dials late
// in two. For a long run: SPADE_CROSSINGS=100000 go test ./transport/ws -run TestCrossing -timeout 0
func TestCrossing(t *testing.T) {
	files, crossed := descriptors(), 0
	for i := range many(t, "SPADE_CROSSINGS", 60) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			names := [2]string{"a", "b"}
			ends := [2]node{start(t, "a", nil, peerOf("b")), start(t, "b", nil, peerOf("a"))}
			begin := make(chan struct{})
			var wg sync.WaitGroup
			for j, n := range ends {
				delay := rand.N(300 * time.Microsecond)
				if i%15 == j+2 {
					delay = rand.N(3 * fast.backoffMax)
				}
				wg.Go(func() {
					<-begin
					time.Sleep(delay)
					if i%15 != j {
						if err := giveAddresses(n.Transport, names[1-j], ends[1-j].Addr()); err != nil {
							t.Error(err)
						}
					}
					if err := stream(patient(t), n.Transport, names[1-j], 20); err != nil {
						t.Error(err)
					}
				})
			}
			close(begin)
			wg.Wait()
			a, b := ends[0].Peers()[0], ends[1].Peers()[0]
			if !a.Connected || !b.Connected || a.Lost+b.Lost > 0 || a.How == b.How {
				t.Errorf("a has %+v\nb has %+v\nwant one connection, none lost\n%s\n%s", a, b, &ends[0].log.text, &ends[1].log.text)
			}
			if a.How == "accepted" {
				crossed++
			}
		})
		if t.Failed() {
			break
		}
	}
	t.Logf("the higher end's connection was used %d times", crossed)
	for range 400 { // the system closes files after Close has returned
		if descriptors() <= files+2 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%d files are open, %d were before", descriptors(), files)
}

// TestRestartIsMet restarts the two nodes in turn while the node that keeps running still has the old connection. After
// each restart, frames must flow again.
func TestRestartIsMet(t *testing.T) {
	names := [2]string{"a", "b"}
	ends := [2]node{start(t, "a", nil, peerOf("b")), start(t, "b", nil, peerOf("a"))}
	at := [2]string{ends[0].listener.Addr().String(), ends[1].listener.Addr().String()}
	for i := range 10 {
		var both sync.WaitGroup
		for j, n := range ends {
			n.reach(t, names[1-j], "wss://"+at[1-j]+"/")
			both.Go(func() {
				if err := stream(patient(t), n.Transport, names[1-j], 5); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if t.Failed() {
			return
		}
		j, lost := i%2, ends[1-i%2].Peers()[0].Lost
		ends[j].Close()
		if l, err := net.Listen("tcp", at[j]); err != nil {
			t.Skip(err) // another process took the port
		} else {
			l.Close()
		}
		ends[j] = start(t, names[j], func(c *Config) { c.Listen = at[j] }, peerOf(names[1-j]))
		for ends[1-j].Peers()[0].Lost == lost { // until the loss is noticed: a frame sent earlier may be lost
			time.Sleep(100 * time.Microsecond)
		}
	}
}
