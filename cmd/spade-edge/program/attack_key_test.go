//go:build unix

package program

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
)

// keyed is a fleet in a row, whose middle member changes its key. Noise comes from a seed, so that models are
// comparable.
type keyed struct {
	*trial
	old, next string // public keys of b
	made      int
	a, c      *process
}

// hangup makes the ends of the row reload the fleet file, and waits until they have.
func (k *keyed) hangup(t *testing.T, more ...*process) {
	t.Helper()
	for _, p := range append([]*process{k.a, k.c}, more...) {
		const read = "the fleet file was reloaded"
		before := strings.Count(p.log.String(), read)
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for strings.Count(p.log.String(), read) == before {
			if p.ended() {
				t.Fatalf("ended:\n%s", p.log)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func (k *keyed) start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	return starting(t, []string{seededNoise + "=1"}, append([]string{"run", k.path(name + ".json"), "-json"}, args...)...)
}

// newKeyed starts the fleet and kills b after some rounds.
func newKeyed(t *testing.T) *keyed {
	t.Helper()
	k := &keyed{trial: newLonger(t, "ab bc", 40)}
	for _, m := range k.file.Members {
		k.edit(t, m.Name+".json", "dirichlet:0.3", "dirichlet:0.1")
	}
	public, err := fleetfile.CreateKey(k.path("next.key"))
	if err != nil {
		t.Fatal(err)
	}
	k.old, k.next = transport.FormatKey(k.file.Members[1].Keys[0]), transport.FormatKey(public)
	k.a, k.c = k.start(t, "a"), k.start(t, "c")
	b := k.start(t, "b")
	b.log.await(t, "round  3 of 42")
	b.kill()
	if k.made = len(k.released(t, 1)); k.made > 30 {
		t.Fatal("the run was over before the kill")
	}
	return k
}

// ends compares all models with those of the undisturbed run, and audits every certificate.
func (k *keyed) ends(t *testing.T, b *process) {
	t.Helper()
	want := k.quiet(t)
	for i, p := range []*process{k.a, b, k.c} {
		r := p.outcome(t)
		if r.Model != want[i][42] {
			t.Errorf("model of %s is %s, the simulation's is %s", r.Name, r.Model, want[i][42])
		}
		if strings.Contains(p.log.String(), "frame refused") {
			t.Errorf("a frame was refused:\n%s", p.log)
		}
	}
	k.audited(t, "b", "a", "c")
	k.audited(t, "a", "b")
	k.audited(t, "c", "b")
	k.checkReleases(t, want)
}

// audited verifies a member's certificate as an auditor does, and checks that all of by countersigned it.
func (tr *trial) audited(t *testing.T, member string, by ...string) privacy.Verification {
	t.Helper()
	node, err := fleetfile.ReadNode(tr.path(member + ".json"))
	if err != nil {
		t.Fatal(err)
	}
	v := object[privacy.Verification](t, "-verify", node.Certificate(), "-fleet", tr.path("fleet.json"), "-ledger", node.Ledger)
	if !v.Verified || !v.FleetChecked || !v.LedgerChecked || !slices.Equal(v.Countersigned, by) || len(v.NotCountersigned) != 0 {
		t.Errorf("certificate of %q: countersigned by %q, want %q: %+v", member, v.Countersigned, by, v)
	}
	return v
}

// A member changes its key during a run as the help says: both keys, hangup, then only the new key, the old one
// retired or removed. The run ends with the bits of the undisturbed one.
func TestAttackKeyExchanged(t *testing.T) {
	t.Parallel()
	for name, retired := range map[string]string{"retired": `, "retired": [%q]`, "gone": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeyed(t)
			k.edit(t, "fleet.json", fmt.Sprintf("[%q]", k.old), fmt.Sprintf("[%q, %q]", k.old, k.next))
			k.hangup(t)
			k.edit(t, "b.json", "b.key", "next.key")
			b := k.start(t, "b")
			b.log.await(t, fmt.Sprintf("round %2d of 42", k.made+6))
			b.kill()
			if retired != "" {
				retired = fmt.Sprintf(retired, k.old)
			}
			k.edit(t, "fleet.json", fmt.Sprintf("[%q, %q]", k.old, k.next), fmt.Sprintf("[%q]%s", k.next, retired))
			k.hangup(t)
			k.ends(t, k.start(t, "b"))
		})
	}
}

// A member changes its key at once, without a period with both, and the old key is gone. The device signs again
// whatever neighbors hold under the old key.
func TestAttackKeyReplaced(t *testing.T) {
	t.Parallel()
	k := newKeyed(t)
	for _, p := range []*process{k.a, k.c} { // they have received everything from b
		p.log.await(t, "disconnected", "peer=b")
		for text := ""; text != p.log.String(); time.Sleep(300 * time.Millisecond) {
			text = p.log.String()
		}
	}
	k.edit(t, "fleet.json", fmt.Sprintf("[%q]", k.old), fmt.Sprintf("[%q]", k.next))
	k.hangup(t)
	k.edit(t, "b.json", "b.key", "next.key")
	k.ends(t, k.start(t, "b"))
}

// A device with a new key replaces a lost one. What the lost one signed counts if its key is listed as retired;
// otherwise the new device waits and spends nothing.
func TestAttackRetiredDevice(t *testing.T) {
	t.Parallel()
	k := newKeyed(t)
	made := len(k.released(t, 1))
	k.remove(t, "b.state")
	l, err := state.CreateLedger(k.path("spare.ledger"), "patients of b, on the spare device", nil)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	k.edit(t, "b.json", "b.key", "next.key", "b.ledger", "spare.ledger")
	k.edit(t, "fleet.json", fmt.Sprintf("[%q]", k.old), fmt.Sprintf("[%q]", k.next))
	k.hangup(t)
	b := k.start(t, "b", "-recover")
	b.log.await(t, "frame refused", "the signature matches none of the member's keys")
	if n := k.spent(t, "spare"); n != 0 {
		t.Errorf("%d releases are charged", n)
	}
	k.edit(t, "fleet.json", fmt.Sprintf("[%q]", k.next), fmt.Sprintf("[%q], \"retired\": [%q]", k.next, k.old))
	k.hangup(t, b)
	r := b.outcome(t)
	if k.a.outcome(t); !r.Done || r.Recovered < made-1 || k.spent(t, "spare") != 40 {
		t.Errorf("outcome %+v after %d releases, and the ledger has %d", r, made, k.spent(t, "spare"))
	}
	k.c.outcome(t)
	k.audited(t, "b", "a", "c")
	k.audited(t, "a", "b")

	// Neighbors refuse connections with the retired key.
	k.edit(t, "b.json", "next.key", "b.key")
	b = start(t, "run", k.path("b.json"), "-json")
	b.refused(t, cli.ExitUsage, "but the fleet file has")
}
