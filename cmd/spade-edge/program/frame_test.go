package program

import (
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

func encoded(t *testing.T, dim int, f admm.Message) string {
	t.Helper()
	codec, err := wire.NewCodec(dim)
	if err != nil {
		t.Fatal(err)
	}
	b, err := codec.Append(nil, &f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
