package fleetfile

import (
	"errors"
	"strings"
	"testing"
)

// TestProgramTask checks which hellos of a program a fleet accepts, with and without a task for programs.
func TestProgramTask(t *testing.T) {
	task, err := MakeProgramTask([]byte(` {"seed" : 7, "of": [1, 2.50]} `))
	if err != nil || string(task) != `{"program":{"seed":7,"of":[1,2.50]}}` {
		t.Fatalf("%s, %v", task, err)
	}
	for _, text := range []string{"", "7", "[1]", "{", `{"a":1} x`} {
		if task, err := MakeProgramTask([]byte(text)); err == nil {
			t.Errorf("%q became the task %s", text, task)
		}
	}
	plain, with, recipe := sample().Fleet, sample().Fleet, sample().Fleet
	with.Task, recipe.Task = task, []byte(`{"program":{},"columns":[]}`)
	if _, err := with.Plan(); err != nil || with.Hash() == plain.Hash() {
		t.Errorf("the task is not in the hash, or %v", err)
	}
	for _, c := range []struct {
		name   string
		dim    int
		task   string
		reason string // "" if the program is accepted
	}{
		{"plain", 3, "", ""},
		{"plain", 4, "", "has 4 parameters, but the fleet's dim is 3"},
		{"plain", 3, `{"seed":7}`, "but the fleet's task is not for a program"},
		{"recipe", 3, "", ""},
		{"with", 3, `{"of":[ 1,2.50],"seed":7}`, ""},
		{"with", 4, string(task), "has 4 parameters"},
		{"with", 3, "", `has no task in its hello, want {"seed":7,"of":[1,2.50]}`},
		{"with", 3, `{"seed":8,"of":[1,2.50]}`, `has the task {"seed":8,"of":[1,2.50]} in its hello, want {"seed":7`},
		{"with", 3, `{"seed":7}`, "has the task"},
		{"with", 3, `{"seed":7,"of":[1,2.5]}`, "has the task"},
		{"with", 3, "no JSON", "has the task no JSON"},
	} {
		fleet := plain
		switch c.name {
		case "with":
			fleet = with
		case "recipe":
			fleet = recipe
		}
		err := checkProgram(fleet, c.dim, c.task)
		if (err == nil) != (c.reason == "") || err != nil && (!strings.Contains(err.Error(), c.reason) || !errors.Is(err, ErrMismatch)) {
			t.Errorf("%s, dim %d, task %q: %v, want %q", c.name, c.dim, c.task, err, c.reason)
		}
	}
}
