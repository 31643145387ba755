package sdk_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// TestAbsentIsPlannedFor checks that planning for absent members raises the noise exactly as planning for as many
// additional colluders does, and that it requires pairwise noise.
func TestAbsentIsPlannedFor(t *testing.T) {
	f := ten(privateRing(), "")
	g := must(f.Plan())(t).Graph()
	suggested := func(colluders, absent int) sdk.Privacy {
		_, p, err := plan.Suggest(plan.Known{Dim: 6, Samples: []int{9}, Graph: g, Fixed: []string{"privacy.partners"},
			Privacy: sdk.Privacy{EpsilonLimit: 8, Colluders: colluders, Absent: absent}})
		ok(t, err)
		return p
	}
	fewer, more, p := suggested(1, 0), suggested(3, 0), suggested(1, 2)
	if p.Sigma != more.Sigma || p.PairSigma != more.PairSigma || p.EffectiveSigma != more.EffectiveSigma ||
		p.Sigma <= fewer.Sigma {
		t.Errorf("with two absent %+v, with two more colluders %+v, with neither %+v", p, more, fewer)
	}
	f.Privacy = p
	if _, err := f.Plan(); err != nil {
		t.Error(err)
	}
	plain := f.Hash()
	for want, change := range map[string]func(p *sdk.Privacy){
		"if at most 3 members vanish; the worst case is": func(p *sdk.Privacy) { p.Absent = 3 },
		"if at most 2 members vanish; the worst case is": func(p *sdk.Privacy) { p.EffectiveSigma *= 1.0001 },
		"privacy.absent is 2, want 0, because pair_sigma is 0": func(p *sdk.Privacy) {
			p.PairSigma, p.EffectiveSigma, p.Colluders = 0, 0, 0
		},
	} {
		f.Privacy = p
		change(&f.Privacy)
		var field *setting.FieldError
		if _, err := f.Plan(); !errors.As(err, &field) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
		if f.Hash() == plain {
			t.Errorf("%+v has the hash of %+v", f.Privacy, p)
		}
	}
}
