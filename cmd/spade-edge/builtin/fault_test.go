package builtin

import (
	"slices"
	"strings"
	"testing"
)

// change is a replacement in a text: the string new takes the place of the first occurrence of the string old. want
// lists the expected errors, exactly one per entry.
type change struct {
	old, new string
	want     []string
}

func one(old, new, want string) change { return change{old, new, []string{want}} }

func (c change) check(t *testing.T, text string, parse func(string) error) {
	t.Helper()
	if strings.Count(text, c.old) < 1 && c.old != "" {
		t.Fatalf("%q is not in the file", c.old)
	}
	bad := c.new
	if c.old != "" {
		bad = strings.Replace(text, c.old, c.new, 1)
	}
	err := parse(bad)
	if err == nil {
		t.Errorf("%q for %q was accepted, want %q", c.new, c.old, c.want)
		return
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(c.want) {
		t.Errorf("%q for %q: %d faults, want %d:\n%v", c.new, c.old, len(lines), len(c.want), err)
		return
	}
	for i, want := range c.want {
		if !strings.Contains(lines[i], want) || !strings.HasPrefix(lines[i], "fleetfile: ") {
			t.Errorf("%q for %q: fault %q, want one with %q", c.new, c.old, lines[i], want)
		}
	}
}

func (c change) and(want string) change {
	c.want = append(slices.Clone(c.want), want)
	return c
}
