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
)

// clique is how many nodes the benchmark has: each has four neighbors.
const clique = 5

// BenchmarkRound measures what a round of five nodes costs on the network, each sending a frame of d float32 to each of its four
// neighbors and waiting for theirs, over loopback in one process: with this package, with bare TLS 1.3, and with bare
// TCP. Each line also says what was put on the wire beyond the numbers themselves.
//
//	go test -run xxx -bench Round -benchtime 3s ./transport/ws
func BenchmarkRound(b *testing.B) {
	for _, d := range []int{10, 10_000, 1_000_000} {
		for _, way := range []struct {
			name string
			mesh func(b *testing.B, size int) mesh
		}{{"ws", wsMesh}, {"tls", rawMesh(true)}, {"tcp", rawMesh(false)}} {
			b.Run(fmt.Sprintf("d=%d/%s", d, way.name), func(b *testing.B) {
				m := way.mesh(b, 4*d)
				b.SetBytes(int64(4 * d * clique * (clique - 1)))
				m.round(b) // warm
				before := m.written()
				b.ReportAllocs()
				for b.Loop() {
					m.round(b)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rounds/s")
				wire := float64(m.written()-before) / float64(b.N) / float64(clique*(clique-1))
				b.ReportMetric(100*(wire/float64(4*d)-1), "%overhead")
			})
		}
	}
}

// mesh is a network in which everybody knows everybody.
type mesh interface {
	round(b *testing.B)
	written() int64 // bytes that were given to TLS or, without it, to TCP
}

// transports is a mesh of this package.
type transports struct {
	nodes []*Transport
	frame []byte
	sent  int64
}

func wsMesh(b *testing.B, size int) mesh {
	m := &transports{frame: make([]byte, size)}
	for i := range clique {
		cfg := Config{Name: nodeName(i), Key: keyOf(nodeName(i)), Listen: "127.0.0.1:0", MaxFrame: size, Logger: slog.New(slog.DiscardHandler)}
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
				if err := t.SetAddresses(nodeName(j), o.Addr()); err != nil {
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
				if _, _, err := t.Recv(context.Background()); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	// A frame is a header of ours and its bytes, in websocket frames of their own headers and masks (RFC 6455, 5.2); a
	// grant of credit comes back for it.
	chunks := (len(m.frame)+chunk-1)/chunk + 2
	m.sent += int64(clique*(clique-1)) * int64(headerLen+len(m.frame)+14*chunks+headerLen+14)
}

func (m *transports) written() int64 { return m.sent }

// streams is a mesh of one bare connection for each pair.
type streams struct {
	ends [clique][clique]net.Conn
	size int
	sent int64
}

func rawMesh(secure bool) func(b *testing.B, size int) mesh {
	return func(b *testing.B, size int) mesh {
		m := &streams{size: size}
		for i := range clique {
			for j := range i {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					b.Fatal(err)
				}
				accepted := make(chan net.Conn)
				go func() {
					c, err := l.Accept()
					if err != nil {
						b.Error(err)
					}
					accepted <- c
				}()
				near, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					b.Fatal(err)
				}
				far := <-accepted
				l.Close()
				if secure {
					cert, err := selfSigned(keyOf("a"))
					if err != nil {
						b.Fatal(err)
					}
					near = tls.Client(near, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
					far = tls.Server(far, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13})
				}
				b.Cleanup(func() { near.Close(); far.Close() })
				m.ends[i][j], m.ends[j][i] = near, far
			}
		}
		return m
	}
}

func (m *streams) round(b *testing.B) {
	var wg sync.WaitGroup
	out := make([]byte, m.size)
	for i := range clique {
		for j := range clique {
			if j == i {
				continue
			}
			c := m.ends[i][j]
			wg.Go(func() {
				if _, err := c.Write(out); err != nil {
					b.Error(err)
				}
			})
			wg.Go(func() {
				if _, err := io.CopyN(io.Discard, c, int64(m.size)); err != nil {
					b.Error(err)
				}
			})
		}
	}
	wg.Wait()
	m.sent += int64(clique * (clique - 1) * m.size)
}

func (m *streams) written() int64 { return m.sent }
