package ws_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/transport/ws"
)

func Example() {
	northPublic, northKey, err := ed25519.GenerateKey(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	southPublic, southKey, err := ed25519.GenerateKey(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	south, err := ws.New(ws.Config{
		Name:   "south",
		Key:    southKey,
		Listen: "127.0.0.1:0",
		Peers:  []ws.Peer{{Name: "north", Keys: []ed25519.PublicKey{northPublic}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer south.Close()
	// Only one of the two nodes needs to listen.
	north, err := ws.New(ws.Config{
		Name:  "north",
		Key:   northKey,
		Peers: []ws.Peer{{Name: "south", Keys: []ed25519.PublicKey{southPublic}, Addresses: []string{south.Addr()}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer north.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := north.Send(ctx, "south", []byte("good morning")); err != nil {
		fmt.Println(err)
		return
	}
	from, frame, err := south.Recv(ctx)
	fmt.Printf("%s: %s, %v\n", from, frame, err)
	// Output: north: good morning, <nil>
}
