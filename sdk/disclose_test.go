package sdk_test

import (
	"encoding/hex"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// TestCertificateShowsNoDrawThatWasNotKept checks that a certificate shows only a release that is stored and marked. A
// release that could not be stored is drawn again later, so nobody may see the first draw. Here the certificate must
// show the previous release.
func TestCertificateShowsNoDrawThatWasNotKept(t *testing.T) {
	f := only(1, privateRing())
	open, trs := tinytest.MemStore(), inMemory(t, f)
	restart := func(fails int) (*sdk.Node, error) {
		n := nodes(t, f, trs, func(_ int, c *sdk.Config) { c.Store = failingFrom(must(open())(t), fails, errFull) })[0]
		return n, n.Run(t.Context())
	}
	shown := func(n *sdk.Node) (r signed.Statement) {
		t.Helper()
		b := must(hex.DecodeString(must(n.Certificate())(t).Head))(t)
		if len(b) > 0 {
			r = must(signed.Parse(b, signed.Release))(t)
		}
		return r
	}
	for i, fails := range []int{1, 2, 2} {
		n, err := restart(fails)
		if err == nil {
			t.Fatal("the test is void: the store has not failed")
		}
		if r := shown(n); r.Round != fails-1 {
			t.Errorf("incarnation %d: the certificate shows release %d, and release %d could not be kept", i, r.Round, fails)
		}
	}
	n, err := restart(1 << 20)
	if last := f.Method.Rounds + f.Method.Cooldown; err != nil || shown(n).Round != last {
		t.Errorf("the certificate shows release %d, want %d (%v)", shown(n).Round, last, err)
	}
}
