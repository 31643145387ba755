package mem_test

import (
	"context"
	"fmt"

	"github.com/spade-dfl/spade-edge/transport/mem"
)

func Example() {
	net := mem.New("north", "south")
	north, err := net.Node("north")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer north.Close()
	south, err := net.Node("south")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer south.Close()

	ctx := context.Background()
	if err := north.Send(ctx, "south", []byte("good morning")); err != nil {
		fmt.Println(err)
		return
	}
	from, frame, err := south.Recv(ctx)
	fmt.Printf("%s: %s, %v\n", from, frame, err)
	// Output: north: good morning, <nil>
}
