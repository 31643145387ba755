package ws

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"
)

// cpuTime returns the sum of the process's user and system time. The variable is nil on platforms without this
// information.
var cpuTime func() time.Duration

// BenchmarkTrip sends a frame of d float32 values to a peer and waits until the peer has sent it back. It uses this
// package and bare TLS 1.3 in turn, so that other load on the machine affects both equally. It reports the duration of
// a round trip with this package, and the speed as a fraction of the speed of TLS, in wall-clock time and, where
// available, in processor time.
//
//	go test -run xxx -bench Trip -benchtime 1s -count 5 ./transport/ws
func BenchmarkTrip(b *testing.B) {
	for _, d := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			ways := []func(){wsTrip(b, 4*d), tlsTrip(b, 4*d)}
			var clock, cpu [2]time.Duration
			turn := max(1, 100_000/d/50) // round trips between two readings of the clock, so that reading costs little
			for b.Loop() {
				for i, trip := range ways {
					began, spent := time.Now(), time.Duration(0)
					if cpuTime != nil {
						spent = cpuTime()
					}
					for range turn {
						trip()
					}
					clock[i] += time.Since(began)
					if cpuTime != nil {
						cpu[i] += cpuTime() - spent
					}
				}
			}
			b.ReportMetric(float64(clock[1])/float64(clock[0]), "of-tls")
			if cpuTime != nil {
				b.ReportMetric(float64(cpu[1])/float64(cpu[0]), "of-tls-by-cpu")
			}
			b.ReportMetric(float64(clock[0].Nanoseconds())/1e3/float64(b.N*turn), "us/trip")
			b.ReportMetric(float64(cpu[0].Nanoseconds())/1e3/float64(b.N*turn), "cpu-us/trip")
		})
	}
}

// wsTrip returns a function that sends a frame of size bytes from one node of this package to another and back.
func wsTrip(b *testing.B, size int) func() {
	node := func(name, peer string) *Transport {
		t, err := New(Config{Name: name, Key: keyOf(name), Listen: "127.0.0.1:0", MaxFrame: size,
			Peers: []Peer{peerOf(peer)}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { t.Close() })
		return t
	}
	near, far := node("a", "b"), node("b", "a")
	if err := giveAddresses(near, "b", far.Addr()); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	go func() {
		for {
			_, frame, err := far.Recv(ctx)
			if err != nil || far.Send(ctx, "a", frame) != nil {
				return
			}
		}
	}()
	out := make([]byte, size)
	trip := func() {
		if err := near.Send(ctx, "b", out); err != nil {
			b.Fatal(err)
		}
		_, _, err := near.Recv(ctx)
		if err != nil {
			b.Fatal(err)
		}
	}
	trip() // returns once there is a connection
	return trip
}

// tlsTrip is like wsTrip but uses a bare TLS connection.
func tlsTrip(b *testing.B, size int) func() {
	near, far := tcpPair(b)
	near = tls.Client(near, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13,
		DynamicRecordSizingDisabled: true})
	far = tls.Server(far, &tls.Config{Certificates: []tls.Certificate{certificateOf(keyOf("a"))},
		MinVersion: tls.VersionTLS13, DynamicRecordSizingDisabled: true})
	echo := func(c net.Conn, buf []byte) error {
		if _, err := io.ReadFull(c, buf); err != nil {
			return err
		}
		_, err := c.Write(buf)
		return err
	}
	go func() {
		buf := make([]byte, size)
		for echo(far, buf) == nil {
		}
	}()
	out, in := make([]byte, size), make([]byte, size)
	trip := func() {
		if _, err := near.Write(out); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(near, in); err != nil {
			b.Fatal(err)
		}
	}
	trip() // includes the handshake
	return trip
}

// tcpPair returns the two ends of a loopback connection and closes them when the test ends.
func tcpPair(t testing.TB) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil { // does not wait, as the system has already made the connection
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}
