package sdk_test

import (
	"encoding"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// settingsOf returns pointers to the fields of a fleet's Method, Privacy and Wire, by their paths in a fleet file.
func settingsOf(f *sdk.Fleet) map[string]any {
	all := map[string]any{}
	for part, v := range map[string]any{"method": &f.Method, "privacy": &f.Privacy, "wire": &f.Wire} {
		of := reflect.ValueOf(v).Elem()
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Type().Field(i).Tag.Get("json"), ",")
			all[part+"."+name] = of.Field(i).Addr().Interface()
		}
	}
	return all
}

// TestEverySettingIsChecked checks that a fleet with one wrong value has an error that names it: a negative number, one
// that does not fit a float32, or one that is not finite.
func TestEverySettingIsChecked(t *testing.T) {
	for name := range settingsOf(new(sdk.Fleet)) {
		for i, wrong := range []float64{-1, 1e39, -1e39, math.Inf(1), math.NaN()} {
			f := privateRing()
			switch x := settingsOf(f)[name].(type) {
			case *float64:
				*x = wrong
			case *admm.Schedule:
				*x = admm.Schedule{wrong}
			case *int:
				*x = -1
			case encoding.TextUnmarshaler:
				if v := reflect.ValueOf(x).Elem(); v.Kind() == reflect.String {
					v.SetString(dpmech.Person(4, "pid").String()) // a unit, but not one of the names
				} else {
					v.SetInt(99)
				}
			default:
				continue
			}
			var fault *setting.FieldError
			if _, err := f.Plan(); !errors.As(err, &fault) || fault.Field != name || !strings.HasPrefix(err.Error(), "sdk: fleet: "+name+" is ") {
				t.Errorf("%s, value %d: %v", name, i, err)
			}
		}
	}
	for i, wrong := range []float32{float32(math.NaN()), float32(math.Inf(1)), 3e38} {
		f := privateRing()
		f.X0 = make([]float32, f.Dim)
		f.X0[1] = wrong
		if _, err := f.Plan(); err == nil || !strings.Contains(err.Error(), "x0[1]") {
			t.Errorf("start %d: error %v", i, err)
		}
	}
}
