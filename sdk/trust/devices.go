package trust

import "fmt"

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
	if len(b) != (members+3)/4 {
		return nil, fmt.Errorf("trust: the sender's list of offers has %d bytes, want %d", len(b), (members+3)/4)
	}
	devices := make([]uint8, 4*len(b))
	for i := range devices {
		devices[i] = b[i/4] >> (i % 4 * 2) & 3
	}
	for _, d := range devices[members:] {
		if d != 0 {
			return nil, fmt.Errorf("trust: the sender's list of offers refers to more than %d members", members)
		}
	}
	return devices[:members], nil
}
