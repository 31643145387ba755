package program

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
)

// TestSettingsCoverTheFleet checks that every field of a fleet's Method, Privacy and Wire has exactly one row, except
// two that follow from others, that the row refers to that field, and that its default is what Suggest takes.
func TestSettingsCoverTheFleet(t *testing.T) {
	var f sdk.Fleet
	var err error
	if f.Method, f.Privacy, err = plan.Suggest(plan.Known{Dim: 1, Samples: []int{1}, Open: true}); err != nil {
		t.Fatal(err)
	}
	f.Method.Seed = 1 // Suggest does not set it
	want := map[string]any{}
	for part, v := range map[string]any{"method": &f.Method, "privacy": &f.Privacy, "wire": &f.Wire} {
		of := reflect.ValueOf(v).Elem()
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Type().Field(i).Tag.Get("json"), ",")
			want[part+"."+name] = of.Field(i).Addr().Interface()
		}
	}
	delete(want, "privacy.person")
	delete(want, "privacy.effective_sigma")
	flags := map[string]bool{}
	for _, s := range setup.Settings(&f) {
		if want[s.Name] != s.Value {
			t.Errorf("%s is in the table twice, or of no field, or leads to another one", s.Name)
		}
		delete(want, s.Name)
		if s.Words == "" || s.Flag == "" || flags[s.Flag] {
			t.Errorf("%s: words %q, flag %q", s.Name, s.Words, s.Flag)
		}
		flags[s.Flag] = true
		got := fmt.Sprint(reflect.ValueOf(s.Value).Elem())
		if x, ok := s.Value.(fmt.Stringer); ok {
			got = x.String()
		}
		if s.Default != "" && s.Default != "chosen" && got != s.Default {
			t.Errorf("%s: Suggest takes %s, the table says %s", s.Name, got, s.Default)
		}
	}
	for name := range want {
		t.Errorf("%s is not in the table", name)
	}
}
