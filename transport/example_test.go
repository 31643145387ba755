package transport_test

import (
	"crypto/ed25519"
	"fmt"

	"github.com/spade-dfl/spade-edge/transport"
)

// This example formats and parses a member's key and address as they appear in a fleet file.
func Example() {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	text := transport.FormatKey(key)
	again, err := transport.ParseKey(text)
	fmt.Println(text, again.Equal(key), err)

	host, hostPort, err := transport.ParseAddress("wss://gateway-3.example:7443/")
	fmt.Println(host, hostPort, err)
	_, _, err = transport.ParseAddress("http://gateway-3.example/")
	fmt.Println(err)
	// Output:
	// ed25519:O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik true <nil>
	// gateway-3.example gateway-3.example:7443 <nil>
	// address "http://gateway-3.example/": want wss://host:port/path or host:port
}

func ExampleCheckBroker() {
	fmt.Println(transport.CheckBroker("nats", "tls://broker.example:4222"))
	fmt.Println(transport.CheckBroker("mqtt", "https://joe:secret@broker.example"))
	// Output:
	// <nil>
	// is not of the form tls://host:port or wss://host:port/path (without TLS: mqtt:// or ws://)
}
