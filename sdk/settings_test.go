package sdk_test

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/settings"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// TestSettingsCoverTheFleet checks that every field of a fleet's Method, Privacy and Wire has exactly one row in the
// table of settings, and that the row refers to that field.
func TestSettingsCoverTheFleet(t *testing.T) {
	var f sdk.Fleet
	want := map[string]any{}
	for part, v := range map[string]any{"method": &f.Method, "privacy": &f.Privacy, "wire": &f.Wire} {
		of := reflect.ValueOf(v).Elem()
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Type().Field(i).Tag.Get("json"), ",")
			want[part+"."+name] = of.Field(i).Addr().Interface()
		}
	}
	flags := map[string]bool{}
	for _, s := range settings.All() {
		place, known := want[s.Name]
		if !known || s.In(&f) != place {
			t.Errorf("%s is in the table twice, or of no field, or leads to another one", s.Name)
		}
		delete(want, s.Name)
		if s.Words == "" || s.Flag != "" && flags[s.Flag] {
			t.Errorf("%s: words %q, flag %q", s.Name, s.Words, s.Flag)
		}
		flags[s.Flag] = true
		switch s.In(&f).(type) {
		case *int, *float64, *admm.Schedule:
			if s.Range == (setting.Range{}) {
				t.Errorf("%s has no range", s.Name)
			}
		case encoding.TextMarshaler:
			if len(s.Names) < 2 {
				t.Errorf("%s has the choices %q", s.Name, s.Names)
			}
		}
	}
	for name := range want {
		t.Errorf("%s is not in the table", name)
	}
}

// TestSettingsCheck checks that settings with named values accept these names and no others, and that the error for a
// value out of range names the field.
func TestSettingsCheck(t *testing.T) {
	for _, s := range settings.All() {
		f := privateRing()
		wrong := false
		switch x := s.In(f).(type) {
		case *int:
			*x, wrong = -1, true
		case *float64:
			*x, wrong = -1, true
		case *admm.Schedule:
			*x, wrong = admm.Schedule{-1}, true
		case encoding.TextUnmarshaler:
			for _, name := range s.Names {
				if err := x.UnmarshalText([]byte(name)); err != nil || fmt.Sprint(x) != name {
					t.Errorf("%s: %q is %v, %v", s.Name, name, x, err)
				}
			}
			if v := reflect.ValueOf(x).Elem(); v.Kind() == reflect.String {
				v.SetString(dpmech.Person(4, "pid").String()) // a unit, but not one of the names
			} else {
				v.SetInt(99)
			}
			wrong = true
		}
		var fault *sdk.FieldError
		if _, err := f.Plan(); wrong && (!errors.As(err, &fault) || fault.Field != s.Name ||
			!strings.HasPrefix(err.Error(), "sdk: fleet: "+s.Name+" is ")) {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

func TestSettingsDefaults(t *testing.T) {
	var f sdk.Fleet
	var err error
	f.Method, f.Privacy, err = plan.Suggest(plan.Known{Dim: 1, Samples: []int{1}, Open: true})
	if err != nil {
		t.Fatal(err)
	}
	f.Method.Seed = 1 // Suggest does not set it
	for _, s := range settings.All() {
		got := fmt.Sprint(reflect.ValueOf(s.In(&f)).Elem())
		if x, ok := s.In(&f).(fmt.Stringer); ok {
			got = x.String()
		}
		if s.Default != "" && s.Default != "chosen" && got != s.Default {
			t.Errorf("%s: Suggest takes %s, the table says %s", s.Name, got, s.Default)
		}
	}
}

func TestSettingsFitFloat32(t *testing.T) {
	for _, s := range settings.All() {
		for _, wrong := range []float64{1e39, -1e39, math.Inf(1), math.NaN()} {
			f := privateRing()
			switch x := s.In(f).(type) {
			case *float64:
				*x = wrong
			case *admm.Schedule:
				*x = admm.Schedule{wrong}
			default:
				continue
			}
			if _, err := f.Plan(); err == nil || !strings.Contains(err.Error(), s.Name) {
				t.Errorf("%s is %v: error %v", s.Name, wrong, err)
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
