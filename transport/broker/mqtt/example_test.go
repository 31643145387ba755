package mqtt_test

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/transport/broker/mqtt"
)

func ExampleTopics() {
	publish, read := mqtt.Topics("ward-study", "alder")
	fmt.Println("user", mqtt.ClientID("ward-study", "alder"))
	fmt.Println("topic write", publish)
	fmt.Println("topic read", read)
	// Output:
	// user c14df0b540793556
	// topic write spade/2a06e406a05e38b2b8036b6a65ff4c0f/c14df0b540793556/+
	// topic read spade/2a06e406a05e38b2b8036b6a65ff4c0f/+/c14df0b540793556
}
