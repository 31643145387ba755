package program

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// proxy is a TCP relay that simulates a bad network: it may cut each connection after some bytes, delay it, and
// throttle it to 64 kbit/s.
type proxy struct {
	addr, target string

	mu     sync.Mutex
	chance rng.Stream
	conns  map[net.Conn]bool
	all    int
	cut    int // number of connections that were cut after some bytes
	row    int // number of consecutive connections up to now that were cut
	slow   int
}

func newProxy(t *testing.T, target string, number int) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{
		addr: l.Addr().String(), target: target, conns: map[net.Conn]bool{},
		chance: rng.New(17, rng.Address{Purpose: rng.Fault, Client: uint32(number)}),
	}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		p.closeAll()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.relay(in, &wg) })
		}
	})
	return p
}

func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// relay serves one connection with random faults.
func (p *proxy) relay(in net.Conn, wg *sync.WaitGroup) {
	out, err := net.Dial("tcp", p.target)
	if err != nil {
		in.Close()
		return
	}
	p.mu.Lock()
	p.all++
	p.conns[in], p.conns[out] = true, true
	limits := [2]int{-1, -1}                         // bytes in each direction before the cut
	if p.row++; p.row > 3 || p.chance.IntN(3) == 0 { // a dialer doubles its wait after each cut
		p.row = 0
	} else {
		p.cut++
		limits[p.chance.IntN(2)] = p.chance.IntN(6000)
	}
	delay := time.Duration(p.chance.IntN(10)) * time.Millisecond
	rate := 0 // bytes per second
	if p.chance.IntN(4) == 0 {
		p.slow++
		rate = 64000 / 8
	}
	reset := p.chance.IntN(2) == 0
	p.mu.Unlock()
	end := func() {
		if reset { // data in transit is lost with the connection
			in.(*net.TCPConn).SetLinger(0)
			out.(*net.TCPConn).SetLinger(0)
		}
		in.Close()
		out.Close()
		p.mu.Lock()
		delete(p.conns, in)
		delete(p.conns, out)
		p.mu.Unlock()
	}
	wg.Go(func() { pump(out, in, limits[0], delay, rate); end() })
	pump(in, out, limits[1], delay, rate)
	end()
}

// pump copies from src to dst until src ends or, unless limit is negative, limit bytes have been copied.
func pump(dst, src net.Conn, limit int, delay time.Duration, rate int) {
	buf := make([]byte, 1400)
	for {
		n, err := src.Read(buf)
		if err != nil {
			return
		}
		time.Sleep(delay)
		if rate > 0 {
			time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
		}
		if limit >= 0 {
			n = min(n, limit)
			limit -= n
		}
		if _, err := dst.Write(buf[:n]); err != nil || limit == 0 {
			return
		}
	}
}
