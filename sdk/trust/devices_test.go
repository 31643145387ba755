package trust

import (
	"bytes"
	"testing"
)

// FuzzDevices checks that ParseDevices is the inverse of PackDevices and accepts nothing else.
func FuzzDevices(f *testing.F) {
	f.Add([]byte{0xe4, 1}, 5)
	f.Add([]byte{0xe4, 4}, 5)
	f.Add([]byte{}, 1)
	f.Fuzz(func(t *testing.T, b []byte, members int) {
		if members < 1 || members > 1024 {
			return
		}
		devices, err := ParseDevices(b, members)
		if err != nil {
			return
		}
		if len(devices) != members || !bytes.Equal(PackDevices(devices), b) {
			t.Errorf("%x for %d members is %v", b, members, devices)
		}
	})
}
