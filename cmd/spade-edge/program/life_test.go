package program

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// into runs a command with -json and decodes its output into result. It fails the test if the exit code differs from
// the given code.
func into(t *testing.T, result any, code int, args ...string) {
	t.Helper()
	got, out, log := call(append(args, "-json")...)
	if got != code {
		t.Fatalf("%v: exit code %d, want %d:\n%s%s", args, got, code, out, log)
	}
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(result); err != nil || dec.More() {
		t.Fatalf("%v: %v in\n%s", args, err, out)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

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

// TestInterruptWhileLoading checks that an interrupt ends a command while it loads data, although loading itself cannot
// be interrupted.
func TestInterruptWhileLoading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	_, err := cli.Prompt(ctx, func() (int, error) {
		cancel()
		<-release
		return 1, nil
	})
	if cli.ExitCode(err, "demo", io.Discard) != cli.ExitFailed || err == nil {
		t.Errorf("error %v", err)
	}
	for _, args := range [][]string{{"demo"}, {"simulate"}, {"init", filepath.Join(t.TempDir(), "x"), "-n", "2"}} {
		var out, log bytes.Buffer
		if code := run(ctx, args, &out, &log); code != cli.ExitFailed || out.Len() > 0 || !strings.Contains(log.String(), "interrupted") {
			t.Errorf("%v: exit code %d: %s", args, code, &log)
		}
	}
}
