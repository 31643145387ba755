package ws_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log"
	"time"

	"github.com/spade-dfl/spade-edge/transport/ws"
)

func Example() {
	northPublic, northKey, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	southPublic, southKey, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	south, err := ws.New(ws.Config{
		Name:   "south",
		Key:    southKey,
		Listen: "127.0.0.1:0",
		Peers:  []ws.Peer{{Name: "north", Keys: []ed25519.PublicKey{northPublic}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer south.Close()
	// Only one of the two nodes needs to listen.
	north, err := ws.New(ws.Config{
		Name:  "north",
		Key:   northKey,
		Peers: []ws.Peer{{Name: "south", Keys: []ed25519.PublicKey{southPublic}, Addresses: []string{south.Addr()}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer north.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := north.Send(ctx, "south", []byte("good morning")); err != nil {
		log.Fatal(err)
	}
	from, frame, err := south.Recv(ctx)
	fmt.Printf("%s: %s, %v\n", from, frame, err)
	// Output: north: good morning, <nil>
}
