package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// TestPersons checks that a node gives each person's records adjacent places if the task names the column of persons
// and the fleet file has the number of places. If only one of the two is given, opening the data must fail.
func TestPersons(t *testing.T) {
	path := filepath.Join(t.TempDir(), "visits.csv")
	if err := os.WriteFile(path, []byte("who,a,y\np,1,no\nq,2,yes\np,3,no\nr,4,yes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		person string
		places int
		want   string
	}{
		{"who", 4, ""}, {"who", 0, `privacy.places is 0 and the task's field person is "who"`}, {"", 4, `privacy.places is 4 and the task's field person is ""`}, {"", 0, ""},
	} {
		recipe, err := task.Fit(task.Spec{Source: "csv:" + path, Label: "y", Person: c.person, Drop: dropped(c.person), Whole: true},
			task.ModelSpec{Name: task.SoftmaxModel}, "a test")
		if err != nil {
			t.Fatal(err)
		}
		text, err := MarshalTask(recipe)
		if err != nil {
			t.Fatal(err)
		}
		fleet := &sdk.Fleet{Dim: recipe.Dim(), Task: text, Privacy: sdk.Privacy{Unit: sdk.UnitRecord, Places: c.places}}
		o := &Oracle{Spec: task.Spec{Source: "csv:" + path, Whole: true}}
		source, err := o.Open(t.Context(), &fleetfile.File{Fleet: fleet})
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("person %q, %d places: %v, want %q", c.person, c.places, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		samples := map[int]int{0: 4, 4: 12}[c.places]
		given := strings.Join(source.ConditionalOn, "; ")
		if source.Samples != samples || strings.Contains(given, "a record is a person") != (c.places > 1) {
			t.Errorf("%d places: %d samples, given as public %s", c.places, source.Samples, given)
		}
	}
}

func dropped(person string) []string {
	if person == "" {
		return []string{"who"}
	}
	return nil
}
