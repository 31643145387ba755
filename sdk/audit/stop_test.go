package audit

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// TestEarlyEnd checks that the certificate of a run that ended early has fewer releases, and shows which members
// requested the end. The audit must refuse an end that too few members requested, or that contradicts the member's
// signed releases.
func TestEarlyEnd(t *testing.T) {
	const last = 3
	w := newEnded(t, func(f *sdk.Fleet) { f.Stop = &sdk.Stop{Members: 2} }, last)
	wish := func(member, last int, by string) string {
		s := signed.Relayed{Member: member, Statement: signed.Statement{Kind: signed.Stop, Round: last}}
		s.Sign(memberKey(by), signed.NewScope(w.fleet.Run, w.fleet.Hash(), w.fleet.Members[member]))
		return hex.EncodeToString(s.Append(nil))
	}
	check := func(change func(c *dpmech.Certificate)) error {
		c := w.unsealed(t, last)
		c.EndedAfter, c.Stops = last, []string{wish(0, 2, "a"), wish(3, last, "d")}
		change(c)
		if err := signed.SealCertificate(c, memberKey("b"), w.last(), nil); err != nil {
			t.Fatal(err)
		}
		_, err := Certificate(w.fleet, reread(t, c), pins)
		return err
	}
	if err := check(func(*dpmech.Certificate) {}); err != nil {
		t.Fatal(err)
	}
	none := newEnded(t, nil, last)
	c := none.unsealed(t, last)
	c.EndedAfter = last
	resign(t, c)
	if _, err := Certificate(none.fleet, c, pins); err == nil || !strings.Contains(err.Error(), "does not allow a run to end early") {
		t.Errorf("a fleet without a stop: %v", err)
	}
	for name, c := range map[string]struct {
		change func(c *dpmech.Certificate)
		want   string
	}{
		"says nothing":      {func(c *dpmech.Certificate) { c.EndedAfter, c.Stops = 0, nil }, "head: is release 5, the last of 5 releases, want the last of 3"},
		"one stop":          {func(c *dpmech.Certificate) { c.Stops = c.Stops[:1] }, "the number of members that requested an end at or before that round is 1, want at least 2"},
		"one member twice":  {func(c *dpmech.Certificate) { c.Stops[1] = wish(0, 3, "a") }, "requested an end at or before that round is 1, want at least 2"},
		"a later one":       {func(c *dpmech.Certificate) { c.Stops[1] = wish(3, 4, "d") }, "requested an end at or before that round is 1, want at least 2"},
		"signed by another": {func(c *dpmech.Certificate) { c.Stops[1] = wish(3, 3, "b") }, "stops[1]: signed: stop 3"},
		"no stop at all":    {func(c *dpmech.Certificate) { c.Stops[1] = "zz" }, "stops[1]:"},
		"too early an end": {func(c *dpmech.Certificate) {
			c.EndedAfter, c.Spends[0].Rounds, c.Lifetime.Runs[1].Spends[0].Rounds = 2, 2, 2
			c.Stops[1] = wish(3, 2, "d")
			recost(c)
		}, "head: is release 5, want at most 4, the last of the run"},
	} {
		if err := check(c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
