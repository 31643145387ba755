package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"math/big"
	"time"

	"github.com/spade-dfl/spade-edge/transport/ws"
)

// roundTrips returns the round-trip times, in seconds, of a frame with the given size in bytes between two endpoints in
// this process: first over this project's websockets, then over a bare TLS connection.
func roundTrips(size int) (ours, theirs float64, err error) {
	socket, end, err := socketPair(size)
	if err != nil {
		return 0, 0, err
	}
	defer end()
	bare, endBare, err := tlsPair(size)
	if err != nil {
		return 0, 0, err
	}
	defer endBare()
	trips := max(20, 4_000_000/(size+2000))
	timed := func(trip func() error) func() (float64, error) {
		return func() (float64, error) {
			start := time.Now()
			for range trips {
				if err := trip(); err != nil {
					return 0, err
				}
			}
			return time.Since(start).Seconds() / float64(trips), nil
		}
	}
	return inTurns(9, timed(socket), timed(bare))
}

// socketPair connects two members over websockets. Each call of trip sends a frame with the given size in bytes and
// waits for an equally long one from the other member. Both recycle what they receive, as nodes do. A call of end closes
// the connection.
func socketPair(size int) (trip func() error, end func(), err error) {
	ctx, stop := context.WithCancel(context.Background())
	var ends [2]*ws.Transport
	end = func() {
		stop()
		for _, t := range ends {
			if t != nil {
				t.Close()
			}
		}
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	names := [2]string{"a", "b"}
	var public [2]ed25519.PublicKey
	var secret [2]ed25519.PrivateKey
	for i := range names {
		if public[i], secret[i], err = ed25519.GenerateKey(rand.Reader); err != nil {
			return nil, end, err
		}
	}
	for _, i := range []int{1, 0} { // start the member that is dialed first
		peer := ws.Peer{Name: names[1-i], Keys: []ed25519.PublicKey{public[1-i]}}
		cfg := ws.Config{Name: names[i], Key: secret[i], MaxFrame: size, Logger: slog.New(slog.DiscardHandler)}
		if i == 1 {
			cfg.Listen = "127.0.0.1:0"
		} else {
			peer.Addresses = []string{ends[1].Addr()}
		}
		cfg.Peers = []ws.Peer{peer}
		if ends[i], err = ws.New(cfg); err != nil {
			return nil, end, err
		}
	}
	go func() {
		answer := make([]byte, size)
		for {
			_, frame, err := ends[1].Recv(ctx)
			if ends[1].Recycle(frame); err != nil || ends[1].Send(ctx, "a", answer) != nil {
				return
			}
		}
	}()
	frame := make([]byte, size)
	trip = func() error {
		if err := ends[0].Send(ctx, "b", frame); err != nil {
			return err
		}
		_, answer, err := ends[0].Recv(ctx)
		ends[0].Recycle(answer)
		return err
	}
	return trip, end, trip()
}

// tlsPair is like socketPair, but over a TLS 1.3 connection.
func tlsPair(size int) (trip func() error, end func(), err error) {
	public, secret, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, secret)
	if err != nil {
		return nil, nil, err
	}
	own := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: secret}
	server := &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS13}
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	go func() {
		far, err := l.Accept()
		if err != nil {
			return
		}
		defer far.Close()
		for frame := make([]byte, size); err == nil; {
			if _, err = io.ReadFull(far, frame); err == nil {
				_, err = far.Write(frame)
			}
		}
	}()
	near, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	if err != nil {
		return nil, nil, err
	}
	frame := make([]byte, size)
	trip = func() error {
		if _, err := near.Write(frame); err != nil {
			return err
		}
		_, err := io.ReadFull(near, frame)
		return err
	}
	return trip, func() { near.Close() }, trip()
}
