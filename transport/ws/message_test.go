package ws

import (
	"bytes"
	"testing"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

func FuzzParseHeader(f *testing.F) {
	f.Add([]byte{'f', 0, 0, 0, 5}, 16)
	f.Add([]byte{'h', 0, 1, 0, 1}, 16)
	f.Add([]byte{'c', 255, 255, 255, 255}, 16)
	f.Fuzz(func(t *testing.T, b []byte, maxFrame int) {
		if len(b) != headerLen || maxFrame < 0 || maxFrame > endpoint.LargestMaxFrame {
			return
		}
		k, n, err := parseHeader([headerLen]byte(b), maxFrame)
		if err != nil {
			return
		}
		limit := map[kind]int{kindHello: endpoint.MaxHello, kindFrame: maxFrame,
			kindCredit: endpoint.LargestMaxFrame}[k]
		if n < 0 || n > limit {
			t.Errorf("kind %q with number %d, more than %d", k, n, limit)
		}
		if h := putHeader(k, n); !bytes.Equal(h[:], b) {
			t.Errorf("header %x is written as %x", b, h)
		}
	})
}
