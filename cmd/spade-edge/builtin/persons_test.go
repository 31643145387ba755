package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// TestPersons checks that a node gives each person's records adjacent places if the task names the column of persons
// and the fleet file has the column and the number of places. If they differ, opening the data must fail.
func TestPersons(t *testing.T) {
	path := filepath.Join(t.TempDir(), "visits.csv")
	if err := os.WriteFile(path, []byte("who,a,y\np,1,no\nq,2,yes\np,3,no\nr,4,yes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		person string
		places int
		fleet  string
		want   string
	}{
		{"who", 4, "who", ""}, {"who", 0, "", `privacy.person is "", want "who" as in the task`},
		{"", 4, "who", `privacy.person is "who", want "" as in the task`}, {"", 0, "", ""},
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
		fleet := &sdk.Fleet{Dim: recipe.Dim(), Task: text, Privacy: sdk.Privacy{Unit: dpmech.Record, Places: c.places, Person: c.fleet}}
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
		if source.Samples != samples {
			t.Errorf("%d places: %d samples", c.places, source.Samples)
		}
	}
}

func dropped(person string) []string {
	if person == "" {
		return []string{"who"}
	}
	return nil
}
