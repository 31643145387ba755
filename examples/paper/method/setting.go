package method

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// check checks a setting against the space of its method: every parameter must have a value, and no other value may be
// set. Low and High only limit a search and are not checked. A value must be positive if Log is set, otherwise at least
// 0. If Whole is set, the value must be an integer; if, in addition, Low and High are 0 and 1, it must be 0 or 1.
func (s Setting) check(method string, space []Param) error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("method: %s: "+format, append([]any{method}, args...)...))
	}
	known := make(map[string]bool, len(space))
	for _, p := range space {
		known[p.Name] = true
		v, ok := s[p.Name]
		switch {
		case !ok:
			fault("%s is not set, want %s", p.Name, p.wanted())
		case !(v >= 0) || math.IsInf(v, 0) || p.Log && v == 0 || p.Whole && v != math.Floor(v) || p.choice() && v > 1 ||
			p.Whole && v > maxWhole:
			fault("%s is %v, want %s", p.Name, v, p.wanted())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !known[name] {
			fault("%s is set, but there is no such parameter in this world", name)
		}
	}
	return errors.Join(errs...)
}

// String returns the parameters with their values, sorted by name, such as "decay=0.05 tau=3".
func (s Setting) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		all = append(all, name+"="+strconv.FormatFloat(s[name], 'g', -1, 64))
	}
	return strings.Join(all, " ")
}

// dirs returns the number of directions in the estimate of one sample, which is 1 if the setting does not specify it.
func (s Setting) dirs() int { return max(1, int(s["dirs"])) }

func (p Param) choice() bool { return p.Whole && p.Low == 0 && p.High == 1 }

func (p Param) wanted() string {
	switch {
	case p.choice():
		return "0 or 1"
	case p.Whole && p.Log:
		return fmt.Sprintf("a whole number in 1..%d", maxWhole)
	case p.Whole:
		return fmt.Sprintf("a whole number in 0..%d", maxWhole)
	case p.Log:
		return "a positive number"
	}
	return "a number of at least 0"
}
