// Command bare is a small program that sends and receives CBOR over websockets with TLS. It has no node. The difference
// between the sizes of embedws and bare is the size that a node adds to a program which already has these libraries.
package main

//lint:file-ignore SA1019 see transport/ws/conn.go

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/fxamacker/cbor/v2"
	"nhooyr.io/websocket"
)

type message struct {
	From  string    `cbor:"from"`
	Model []float32 `cbor:"model"`
}

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run listens at one address and sends a message to another.
func run(ctx context.Context, listen, address string) error {
	pair, err := tls.LoadX509KeyPair("cert.pem", "key.pem")
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: http.HandlerFunc(accept), ReadHeaderTimeout: time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
	}
	failed := make(chan error, 1)
	go func() { failed <- server.ServeTLS(l, "", "") }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true,
		VerifyConnection: func(tls.ConnectionState) error { return nil },
	}}}
	conn, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		return err
	}
	frame, err := cbor.Marshal(message{"a", []float32{1, 2}})
	if err == nil {
		err = conn.Write(ctx, websocket.MessageBinary, frame)
	}
	return errors.Join(err, conn.Close(websocket.StatusNormalClosure, ""), <-failed)
}

// accept prints the message that arrives on a connection.
func accept(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close(websocket.StatusNormalClosure, "")
	var m message
	if _, frame, err := conn.Read(r.Context()); err == nil && cbor.Unmarshal(frame, &m) == nil {
		fmt.Println(m.From, m.Model)
	}
}
