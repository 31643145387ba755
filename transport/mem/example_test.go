package mem_test

import (
	"context"
	"fmt"
	"log"

	"github.com/spade-dfl/spade-edge/transport/mem"
)

func Example() {
	net := mem.New("north", "south")
	north, err := net.Node("north")
	if err != nil {
		log.Fatal(err)
	}
	defer north.Close()
	south, err := net.Node("south")
	if err != nil {
		log.Fatal(err)
	}
	defer south.Close()

	ctx := context.Background()
	if err := north.Send(ctx, "south", []byte("good morning")); err != nil {
		log.Fatal(err)
	}
	from, frame, err := south.Recv(ctx)
	fmt.Printf("%s: %s, %v\n", from, frame, err)
	// Output: north: good morning, <nil>
}
