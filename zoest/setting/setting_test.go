package setting_test

import (
	"errors"
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/setting"
)

func TestRange(t *testing.T) {
	for _, c := range []struct {
		r       setting.Range
		text    string
		in, out []float64
	}{
		{setting.Rho, "1e-9..1e9", []float64{1e-9, 1, 1e9}, []float64{0, 1e10, math.NaN()}},
		{setting.Gain, "more than 0 and less than 1", []float64{0.5}, []float64{0, 1, math.Inf(1)}},
		{setting.Momentum, "0 or more, and less than 1", []float64{0, 0.9}, []float64{-1, 1, math.NaN()}},
		{setting.Mixing, "a whole number, 0..65536", []float64{0, 65536}, []float64{-1, 65537}},
		{setting.Range{Max: 1, OpenMin: true}, "more than 0 and at most 1", []float64{1}, []float64{0}},
		{setting.Step, "1.2e-38..3.4e38", []float64{1}, []float64{0, 1e39}},
	} {
		if got := c.r.String(); got != c.text {
			t.Errorf("%q, want %q", got, c.text)
		}
		for _, x := range c.in {
			if err := c.r.Check("p", "f", x); err != nil {
				t.Error(err)
			}
		}
		for _, x := range c.out {
			var f *setting.FieldError
			if err := c.r.Check("p", "f", x); !errors.As(err, &f) || f.Field != "f" || f.Want != c.text {
				t.Errorf("%v of %v: %v", x, c.r, err)
			}
		}
	}
	if err := setting.Tau.Check("admm", "Tau", -2); err.Error() != "admm: Tau is -2, want a whole number, 1..2147483647" {
		t.Error(err)
	}
}
