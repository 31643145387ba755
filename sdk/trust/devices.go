package trust

import (
	"bytes"
	"fmt"
)

// PackDevices encodes the devices that [Secrets.Holds] returns, two bits for each member, starting at the lowest bits
// of the first byte.
func PackDevices(devices []uint8) []byte {
	b := make([]byte, (len(devices)+3)/4)
	for i, d := range devices {
		b[i/4] |= d << (i % 4 * 2)
	}
	return b
}

// ParseDevices parses the output of PackDevices for the given number of members.
func ParseDevices(b []byte, members int) ([]uint8, error) {
	devices := make([]uint8, members)
	for i := range min(members, 4*len(b)) {
		devices[i] = b[i/4] >> (i % 4 * 2) & 3
	}
	if !bytes.Equal(PackDevices(devices), b) {
		return nil, fmt.Errorf("trust: the sender's list of offers, %d bytes, is not a list for %d members", len(b), members)
	}
	return devices, nil
}
