package device_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/zoest"
)

// distance is an oracle that an embedding program might have.
type distance struct{ zoest.OracleFunc }

func (d distance) Losses(ctx context.Context, queries []zoest.Query, losses []float64) error {
	for i, q := range queries {
		losses[i], _ = d.Loss(ctx, q.Point, q.Sample)
	}
	return nil
}

// TestInsideAnotherProgram runs a node inside a host program, with the host's losses and with a fleet file in memory. The node must
// not change environment variables. Its status before and after the run must equal the status that another Device then
// reads from disk.
func TestInsideAnotherProgram(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "/nonexistent")
	var said bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&said, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	dir := t.TempDir()
	key, err := secret.CreateKey(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := (&fleetfile.File{
		Fleet: &sdk.Fleet{
			Run: "guest", Dim: 2, Members: []string{"a"}, Privacy: sdk.Privacy{NonPrivate: true},
			Method: sdk.Method{Rounds: 3, Tau: 1, Rho: 1, Gain: 0.5, Eta: []float64{0.1}, Mu: []float64{0.1}},
		},
		Members: []fleetfile.Member{{Name: "a", Keys: []ed25519.PublicKey{key}}},
	}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	load := func() *device.Device {
		t.Helper()
		file, err := fleetfile.ParseNode([]byte(`{"version": 1, "name": "a", "fleet": "-", "key": "key", "state": "state",
			"oracle": {"stream": ["/nonexistent"]}}`), dir)
		if err != nil {
			t.Fatal(err)
		}
		file.FleetText = text
		d, err := device.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	phase := func(d *device.Device, want monitor.Phase) {
		t.Helper()
		if st, err := d.Status(t.Context()); err != nil || st.Phase != want {
			t.Errorf("the status is %+v, %v, want phase %q", st, err, want)
		}
	}
	d := load()
	phase(d, monitor.Fresh)
	if _, err := d.Model(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the model before any release: %v", err)
	}
	closed := 0
	d.Anyway = true
	d.Source = fleetfile.External(distance{func(_ context.Context, x []float32, _ int) (float64, error) {
		off := float64(x[0]) - 1
		return off * off, nil
	}}, 4)
	d.Source.Close = func() error { closed++; return nil }
	d.Open = func(*slog.Logger) (device.Link, error) {
		tr, err := mem.New("a").Node("a")
		return link{tr, tr.(transport.Notifier)}, err
	}
	if _, err := d.Run(t.Context()); err != nil || closed != 1 {
		t.Fatal(err, closed)
	}
	if !strings.Contains(said.String(), `node \"a\" of run \"guest\"`) {
		t.Errorf("without Say the program's own log has %q", said.String())
	}
	if os.Getenv("NOTIFY_SOCKET") == "" {
		t.Error("a guest took the service manager's socket")
	}
	phase(d, monitor.Ended)
	now, err := d.Model()
	if err != nil || now[0] == 0 {
		t.Errorf("the model is %v, %v", now, err)
	}
	next := load()
	phase(next, monitor.Finished)
	if kept, err := next.Model(); err != nil || !slices.Equal(kept, now) {
		t.Errorf("%v is kept of %v, %v", kept, now, err)
	}
	next.File.Name = "b"
	if _, err := next.Model(); !errors.Is(err, device.ErrOtherState) {
		t.Errorf("another node's model: %v", err)
	}
}
