package trust_test

import (
	"errors"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// TestRelayedOffers checks that the first relayed offer of each device is accepted if its member signed the offer for
// this run. Another signature of the same offer replaces the first signature; any other offer changes nothing.
func TestRelayedOffers(t *testing.T) {
	const last = 20
	fleet := [32]byte{1}
	public := func() [32]byte {
		k, err := pair.NewPrivate()
		if err != nil {
			t.Fatal(err)
		}
		return [32]byte(k.PublicKey().Bytes())
	}
	a, b := members()
	first := signed.Statement{Kind: signed.Offer, Round: 1, Value: public()}
	sign := func(o signed.Statement, by *trust.Log, of string) signed.Statement {
		o.Sign(by.Key, signed.NewScope("trial-7", fleet, of))
		return o
	}
	with := func(change func(o *signed.Statement)) signed.Statement {
		o := first
		change(&o)
		return o
	}
	for name, c := range map[string]struct {
		before []signed.Statement
		offer  signed.Statement
		member string
		fresh  bool
		fork   bool
		fails  bool
	}{
		"the first":               {nil, sign(first, b, "b"), "b", true, false, false},
		"the first again":         {[]signed.Statement{sign(first, b, "b")}, sign(first, b, "b"), "b", false, false, false},
		"by another member":       {nil, sign(first, a, "b"), "b", false, false, true},
		"of another member":       {nil, sign(first, b, "c"), "b", false, false, true},
		"of this one":             {nil, sign(first, a, "a"), "a", false, false, false},
		"another key":             {[]signed.Statement{sign(first, b, "b")}, sign(with(func(o *signed.Statement) { o.Value = public() }), b, "b"), "b", false, true, true},
		"another key, not signed": {[]signed.Statement{sign(first, b, "b")}, with(func(o *signed.Statement) { o.Value[0]++ }), "b", false, false, true},
		"from later on":           {nil, sign(with(func(o *signed.Statement) { o.Round = 2 }), b, "b"), "b", false, false, true},
		"of low order":            {nil, sign(with(func(o *signed.Statement) { o.Value = [32]byte{1} }), b, "b"), "b", false, false, true},
	} {
		s := &trust.Secrets{Relays: true}
		if err := s.New(a, 1); err != nil {
			t.Fatal(err)
		}
		for _, o := range c.before {
			s.Kept.Add("b", o)
		}
		s.Changed = false
		fresh, err := s.Relayed(a, c.member, c.offer)
		if fresh != c.fresh || (err != nil) != c.fails || errors.As(err, new(trust.Fork)) != c.fork || s.Changed != c.fresh {
			t.Errorf("%s: fresh %v, changed %v, %v", name, fresh, s.Changed, err)
		}
		switch device, o := s.Holds("b"); {
		case c.fresh && (o != c.offer || device != 1):
			t.Errorf("%s: device %d and %+v are held", name, device, o)
		case !c.fresh && len(c.before) > 0 && o != c.before[0]:
			t.Errorf("%s: it holds %+v, want what it held before", name, o)
		}
	}
}
