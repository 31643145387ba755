package zoest

import (
	"errors"
	"fmt"
	"testing"
)

func TestDistributionText(t *testing.T) {
	for _, d := range []Distribution{Rademacher, Walsh} {
		var got Distribution
		text, err := d.MarshalText()
		if err := errors.Join(err, got.UnmarshalText(text)); got != d || err != nil {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
	unset := Walsh
	if err := unset.UnmarshalText(nil); unset != Rademacher || err != nil {
		t.Errorf("no name is read as %v, %v, want the default", unset, err)
	}
	if _, err := Distribution(7).MarshalText(); err == nil {
		t.Error("a distribution without a name was written")
	}
	for _, name := range []string{"Walsh", "sphere", Distribution(7).String()} {
		err := new(Distribution).UnmarshalText([]byte(name))
		if want := fmt.Sprintf("zoest: directions %q, want rademacher or walsh", name); err == nil || err.Error() != want {
			t.Errorf("%q gives the error %v, want %s", name, err, want)
		}
	}
}
