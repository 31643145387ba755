package sdk_test

import (
	"context"
	"encoding/hex"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// TestCertificateShowsNoDrawThatWasNotKept checks that a certificate shows only a release that is stored and marked. A
// release that could not be stored is drawn again later, so nobody may see the first draw. Here the certificate must
// show the previous release.
func TestCertificateShowsNoDrawThatWasNotKept(t *testing.T) {
	f := only(1, privateRing())
	open := tinytest.MemStore()
	restart := func(fails int) (*sdk.Node, error) {
		store := must(open())(t)
		tr := must(mem.New(f.Members...).Node("a"))(t)
		defer tr.Close()
		cfg := sdk.Config{Fleet: f, Name: "a", Samples: 5, Oracle: oracle(0), Transport: tr, Store: failingFrom(store, fails, errFull)}
		sign(&cfg)
		n := must(sdk.New(cfg))(t)
		return n, n.Run(context.Background())
	}
	shown := func(n *sdk.Node) (r signed.Statement) {
		t.Helper()
		c := must(n.Certificate())(t)
		b, err := hex.DecodeString(c.Head)
		if err == nil && len(b) > 0 {
			r, err = signed.Parse(b, signed.Release)
		}
		if err != nil {
			t.Fatal(err)
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
