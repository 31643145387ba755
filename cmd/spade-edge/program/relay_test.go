package program

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// relayed relays connections to target over a bad network: each piece of data is late, some connections are slow (64
// kbit/s), and most are cut after up to 6000 bytes. It returns its address. cuts counts the connections to be cut.
func relayed(t *testing.T, target string, number int, cuts *atomic.Int32) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ends, over := make(chan struct{}), sync.WaitGroup{}
	t.Cleanup(func() { l.Close(); close(ends); over.Wait() })
	chance := rng.New(17, rng.Address{Purpose: rng.Fault, Client: uint32(number)})
	over.Go(func() {
		for row := 0; ; {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				in.Close()
				continue
			}
			limits := [2]int64{1 << 62, 1 << 62}
			if row++; row > 3 || chance.IntN(3) == 0 { // a dialer doubles its wait after each cut
				row = 0
			} else {
				cuts.Add(1)
				limits[chance.IntN(2)] = int64(chance.IntN(6000))
			}
			pause := late{delay: time.Duration(chance.IntN(10)) * time.Millisecond, slow: chance.IntN(4) == 0}
			if chance.IntN(2) == 0 { // data in transit is lost with the connection
				_, _ = in.(*net.TCPConn).SetLinger(0), out.(*net.TCPConn).SetLinger(0)
			}
			ended := make(chan struct{}, 2)
			for i, pair := range [][2]net.Conn{{out, in}, {in, out}} {
				over.Go(func() {
					_, _ = io.Copy(pair[0], io.LimitReader(late{pair[1], pause.delay, pause.slow}, limits[i]))
					ended <- struct{}{}
				})
			}
			over.Go(func() {
				select {
				case <-ended:
				case <-ends:
				}
				in.Close()
				out.Close()
			})
		}
	})
	return l.Addr().String()
}

// late is a reader that returns each piece of data late.
type late struct {
	io.Reader
	delay time.Duration
	slow  bool
}

func (r late) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b[:min(len(b), 1400)])
	if time.Sleep(r.delay); r.slow {
		time.Sleep(time.Duration(n) * time.Second / (64000 / 8))
	}
	return n, err
}
