package program

import (
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// object runs the privacy command with args and decodes its JSON output.
func object[T any](t *testing.T, args ...string) (v T) {
	t.Helper()
	into(t, &v, cli.ExitDone, with([]string{"privacy"}, args...)...)
	return v
}
