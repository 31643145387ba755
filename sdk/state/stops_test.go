package state_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Stops come back for the fleet that they were kept for, in the place of what was kept before. A damaged file is an error
// that says what to do.
func TestStops(t *testing.T) {
	dir := t.TempDir()
	d, err := state.Open(dir, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	fleet := [32]byte{7}
	if list, err := d.Stops(fleet); err != nil || list != nil {
		t.Errorf("a fresh store: %v, %v", list, err)
	}
	a, b := signed.Relayed{Member: 2, Statement: signed.Statement{Kind: signed.Stop, Round: 30, Signature: [64]byte{1}}}, signed.Relayed{Member: 0, Statement: signed.Statement{Kind: signed.Stop, Round: 40}}
	for _, list := range [][]signed.Relayed{{b}, {a, b}, {a}} {
		if err := d.KeepStops(fleet, list); err != nil {
			t.Fatal(err)
		}
		if got, err := state.ReadStops(dir, fleet); err != nil || !slices.Equal(got, list) {
			t.Errorf("%v, %v, want %v", got, err, list)
		}
		if got, err := d.Stops([32]byte{8}); err != nil || got != nil {
			t.Errorf("of another fleet: %v, %v", got, err)
		}
	}
	text, err := os.ReadFile(state.StopsPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"torn":    string(text[:40]),
		"fleet":   strings.Replace(string(text), `"fleet":"07`, `"fleet":"`, 1),
		"field":   strings.Replace(string(text), `"stop"`, `"step"`, 1),
		"no hex":  strings.Replace(string(text), `"stop":"0`, `"stop":"g`, 1),
		"shorter": strings.Replace(string(text), `"stop":"00`, `"stop":"`, 1),
	} {
		if err := os.WriteFile(state.StopsPath(dir), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := d.Stops(fleet); err == nil || !strings.Contains(err.Error(), "the neighbors send its stops again") {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
}
