package nats_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/spade-dfl/spade-edge/transport/broker/nats"
)

// In this example, two members exchange a frame although they are never connected at the same time. A local server acts
// as the broker.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	broker, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true,
		StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		panic(err)
	}
	broker.Start()
	defer broker.Shutdown()
	broker.ReadyForConnections(10 * time.Second)

	alderPublic, alderKey, _ := ed25519.GenerateKey(nil)
	birchPublic, birchKey, _ := ed25519.GenerateKey(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	alder, err := nats.New(nats.Config{
		Name: "alder", Key: alderKey, Run: "ward-study", URLs: []string{broker.ClientURL()},
		Peers: []nats.Peer{{Name: "birch", Keys: []ed25519.PublicKey{birchPublic}}},
	})
	if err != nil {
		panic(err)
	}
	if err := alder.Send(ctx, "birch", []byte("good night")); err != nil {
		panic(err)
	}
	_ = alder.Close()

	birch, err := nats.New(nats.Config{
		Name: "birch", Key: birchKey, Run: "ward-study", URLs: []string{broker.ClientURL()},
		Peers: []nats.Peer{{Name: "alder", Keys: []ed25519.PublicKey{alderPublic}}},
	})
	if err != nil {
		panic(err)
	}
	defer birch.Close()
	from, frame, err := birch.Recv(ctx)
	fmt.Printf("%s: %s %v\n", from, frame, err)
	// Output: alder: good night <nil>
}
