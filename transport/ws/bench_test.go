package ws

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"
)

// clique is the number of nodes in the benchmarks. Every node has all other nodes as neighbors.
const clique = 5

// ways lists the kinds of connections that BenchmarkRound compares: this package, bare TLS and bare TCP.
var ways = []struct {
	name string
	mesh func(b *testing.B, size int) mesh
}{{"ws", wsMesh}, {"tls", rawMesh(true)}, {"tcp", rawMesh(false)}}

// cpuTime returns the sum of the process's user and system time. The variable is nil on platforms without this
// information.
var cpuTime func() time.Duration

// BenchmarkRound measures the network cost of a round. Each of five nodes sends a frame of d float32 values to its four
// neighbors and waits for their frames. All nodes run in one process and communicate over loopback: with this package,
// with bare TLS 1.3, or with bare TCP. The benchmark also reports the overhead on the network, which is the number of
// bytes written to TCP in addition to the float32 values.
//
//	go test -run xxx -bench Round -benchtime 3s ./transport/ws
func BenchmarkRound(b *testing.B) {
	for _, d := range []int{10, 10_000, 1_000_000} {
		for _, way := range ways {
			b.Run(fmt.Sprintf("d=%d/%s", d, way.name), func(b *testing.B) {
				m := way.mesh(b, 4*d)
				b.SetBytes(int64(4 * d * clique * (clique - 1)))
				m.round(b) // warm-up
				before := m.written()
				b.ReportAllocs()
				for b.Loop() {
					m.round(b)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rounds/s")
				wire := float64(m.written()-before) / float64(b.N) / float64(clique*(clique-1))
				b.ReportMetric(wire, "wire-B/frame")
				b.ReportMetric(100*(wire/float64(4*d)-1), "%overhead")
			})
		}
	}
}

// BenchmarkAgainst runs the rounds of BenchmarkRound with this package, TLS and TCP in turn, so that other load on the
// machine affects all three equally. It reports the speed of this package as a fraction of the speeds of TLS and TCP,
// in wall-clock time and, where available, in processor time.
//
//	go test -run xxx -bench Against -benchtime 3s -count 5 ./transport/ws
func BenchmarkAgainst(b *testing.B) {
	for _, d := range []int{10, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			var meshes []mesh
			var clock, cpu [3]time.Duration
			for _, way := range ways {
				m := way.mesh(b, 4*d)
				m.round(b)
				meshes = append(meshes, m)
			}
			turn := max(1, 10_000/d) // rounds between two readings of the clocks, so that reading costs little
			for b.Loop() {
				for i, m := range meshes {
					began := time.Now()
					var spent time.Duration
					if cpuTime != nil {
						spent = cpuTime()
					}
					for range turn {
						m.round(b)
					}
					clock[i] += time.Since(began)
					if cpuTime != nil {
						cpu[i] += cpuTime() - spent
					}
				}
			}
			b.ReportMetric(float64(clock[1])/float64(clock[0]), "of-tls")
			b.ReportMetric(float64(clock[2])/float64(clock[0]), "of-tcp")
			if cpuTime != nil {
				b.ReportMetric(float64(cpu[1])/float64(cpu[0]), "of-tls-by-cpu")
				b.ReportMetric(float64(cpu[2])/float64(cpu[0]), "of-tcp-by-cpu")
			}
			b.ReportMetric(float64(b.N*turn)/clock[0].Seconds(), "rounds/s")
		})
	}
}

type mesh interface {
	round(b *testing.B)
	written() int64 // bytes written to TCP
}

type transports struct {
	nodes []*Transport
	frame []byte
}

func wsMesh(b *testing.B, size int) mesh {
	m := &transports{frame: make([]byte, size)}
	for i := range clique {
		cfg := Config{Name: nodeName(i), Key: keyOf(nodeName(i)), Listen: "127.0.0.1:0", MaxFrame: size,
			Logger: slog.New(slog.DiscardHandler)}
		for j := range clique {
			if j != i {
				cfg.Peers = append(cfg.Peers, peerOf(nodeName(j)))
			}
		}
		t, err := New(cfg)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { t.Close() })
		m.nodes = append(m.nodes, t)
	}
	for i, t := range m.nodes {
		for j, o := range m.nodes {
			if j != i {
				if err := giveAddresses(t, nodeName(j), o.Addr()); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	return m
}

func nodeName(i int) string { return string(rune('a' + i)) }

func (m *transports) round(b *testing.B) {
	var wg sync.WaitGroup
	for i, t := range m.nodes {
		for j := range m.nodes {
			if j != i {
				wg.Go(func() {
					if err := t.Send(context.Background(), nodeName(j), m.frame); err != nil {
						b.Error(err)
					}
				})
			}
		}
		wg.Go(func() {
			for range clique - 1 {
				_, _, err := t.Recv(context.Background())
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func (m *transports) written() (n int64) {
	for _, t := range m.nodes {
		for _, s := range t.Peers() {
			n += s.Sent
		}
	}
	return n
}

// streams connects every pair of nodes with a bare TLS or TCP connection.
type streams struct {
	ends  [clique][clique]net.Conn
	in    [clique][clique][]byte
	out   []byte
	count traffic
}

func rawMesh(secure bool) func(b *testing.B, size int) mesh {
	return func(b *testing.B, size int) mesh {
		m := &streams{out: make([]byte, size)}
		wrap := func(c net.Conn) net.Conn {
			t := newTCP(c)
			t.countFor(&m.count)
			return t
		}
		for i := range clique {
			for j := range i {
				near, far := tcpPair(b)
				near, far = wrap(near), wrap(far)
				if secure {
					cert := certificateOf(keyOf("a"))
					near = tls.Client(near, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13,
						DynamicRecordSizingDisabled: true})
					far = tls.Server(far, &tls.Config{Certificates: []tls.Certificate{cert},
						MinVersion: tls.VersionTLS13, DynamicRecordSizingDisabled: true})
				}
				m.ends[i][j], m.ends[j][i] = near, far
				m.in[i][j], m.in[j][i] = make([]byte, size), make([]byte, size)
			}
		}
		return m
	}
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

func (m *streams) round(b *testing.B) {
	var wg sync.WaitGroup
	for i := range clique {
		for j := range clique {
			if j == i {
				continue
			}
			c := m.ends[i][j]
			wg.Go(func() {
				if _, err := c.Write(m.out); err != nil {
					b.Error(err)
				}
			})
			wg.Go(func() {
				if _, err := io.ReadFull(c, m.in[i][j]); err != nil {
					b.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

func (m *streams) written() int64 { return m.count.sent.Load() }
