package setting

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Range is what a number may be: Min to Max, and 0 if Zero says what that means.
type Range struct {
	Min, Max float64
	OpenMin  bool   // Min itself is not allowed
	OpenMax  bool   // Max itself is not allowed
	Whole    bool   // whole numbers
	Zero     string // what 0 means, such as "no limit"; empty if it is allowed between Min and Max alone
}

// Has reports whether x is allowed.
func (r Range) Has(x float64) bool {
	if r.Zero != "" && x == 0 {
		return true
	}
	return x >= r.Min && x <= r.Max && !(r.OpenMin && x == r.Min) && !(r.OpenMax && x == r.Max)
}

// String returns the range in words: "1..65536", "0 (no limit), or 1..1e6", "more than 0 and less than 1".
func (r Range) String() string {
	low, high := r.number(r.Min), r.number(r.Max)
	text := low + ".." + high
	switch {
	case math.IsInf(r.Max, 1) && r.OpenMin:
		text = "more than " + low
	case math.IsInf(r.Max, 1):
		text = low + " or more"
	case r.OpenMin && r.OpenMax:
		text = "more than " + low + " and less than " + high
	case r.OpenMin:
		text = "more than " + low + " and at most " + high
	case r.OpenMax:
		text = low + " or more, and less than " + high
	}
	if r.Whole {
		text = "a whole number, " + text
	}
	if r.Zero != "" {
		text = "0 (" + r.Zero + "), or " + text
	}
	return text
}

func (r Range) number(x float64) string {
	if r.Whole {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	if x == math.MaxFloat32 {
		return "3.4e38"
	}
	return strings.NewReplacer("e-0", "e-", "e+0", "e", "e+", "e").Replace(strconv.FormatFloat(x, 'g', 2, 64))
}

// FieldError reports one wrong value.
type FieldError struct {
	Package string // who checked it: "admm", or "sdk: fleet"
	Field   string // of a struct, or its path in a file: "Rho", "method.rho"
	Found   string
	Want    string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: %s is %s, want %s", e.Package, e.Field, e.Found, e.Want)
}

// Check returns a [FieldError] if the range does not have x, which is found in a field.
func (r Range) Check(pkg, field string, x float64) error {
	if r.Has(x) {
		return nil
	}
	found := fmt.Sprint(x)
	if r.Whole {
		found = strconv.FormatFloat(x, 'f', -1, 64)
	}
	return &FieldError{Package: pkg, Field: field, Found: found, Want: r.String()}
}
