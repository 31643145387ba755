package setting

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Range is the set of valid values of a number: Min to Max, and also 0 if Zero is not empty.
type Range struct {
	Min, Max float64
	OpenMin  bool   // Min itself is not allowed; set if Max is infinite
	OpenMax  bool   // Max itself is not allowed
	Whole    bool   // only integers
	Zero     string // the meaning of 0, such as "no limit"; if empty, 0 is allowed only between Min and Max
}

// Has reports whether x is in the range.
func (r Range) Has(x float64) bool {
	if r.Zero != "" && x == 0 {
		return true
	}
	return x >= r.Min && x <= r.Max && !(r.OpenMin && x == r.Min) && !(r.OpenMax && x == r.Max)
}

// String describes the range in words, such as "a whole number, 1..65536", "0 (no limit), or 1..1e6", or "more than 0 and
// less than 1".
func (r Range) String() string {
	low, high := r.number(r.Min), r.number(r.Max)
	text := low + ".." + high
	switch {
	case math.IsInf(r.Max, 1):
		text = "more than " + low
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

// These are the ranges of the SPADE-DFL settings. All integers fit into 32 bits on every processor.
var (
	Rounds   = Range{Min: 1, Max: math.MaxInt32, Whole: true}
	Mixing   = Range{Min: 0, Max: 1 << 16, Whole: true}
	Cooldown = Range{Min: 0, Max: math.MaxInt32, Whole: true}
	Tau      = Range{Min: 1, Max: math.MaxInt32, Whole: true}
	Batch    = Range{Min: 0, Max: math.MaxInt32, Whole: true}
	Momentum = Range{Min: 0, Max: 1, OpenMax: true}
	Rho      = Range{Min: 1e-9, Max: 1e9}
	Shrink   = Range{Min: 0, Max: 16}
	// Step is the range of step sizes, smoothing radii and the penalty weight: all positive normal float32 values.
	Step = Range{Min: 0x1p-126, Max: math.MaxFloat32}
	// Gain is the range of tau*beta*eta*mu*rho*lambda_N as a fraction of its stability limit, 8/3.
	Gain = Range{Min: 0, Max: 1, OpenMin: true, OpenMax: true}
)

// MemoryLimit is the default of the bytes that estimator tracking may add to a stored state.
const MemoryLimit = 64 << 20

// FieldError is the error for one invalid value.
type FieldError struct {
	Package string // the package that checked the value: "sdk", or "sdk: fleet"
	Field   string // name in a struct, or path in a file: "Rho", "method.rho"
	Found   string
	Want    string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: %s is %s, want %s", e.Package, e.Field, e.Found, e.Want)
}

// Check returns a [FieldError] for the named field if x is not in the range.
func (r Range) Check(pkg, field string, x float64) error {
	if r.Has(x) {
		return nil
	}
	found := fmt.Sprint(x)
	if r.Whole {
		found = r.number(x)
	}
	return &FieldError{Package: pkg, Field: field, Found: found, Want: r.String()}
}

// Choice is the set of valid values of a setting whose values have names. A value is the index of its name.
type Choice struct {
	Of    string   // what the values choose: "zoest: estimator"
	Names []string // Parse reads an empty name as the first
}

// Name returns the name of a value, or the value itself as a number if it has no name.
func (c Choice) Name(value int) string {
	if value < 0 || value >= len(c.Names) {
		return strconv.Itoa(value)
	}
	return c.Names[value]
}

// Text returns the name of a value. It fails if the value has no name.
func (c Choice) Text(value int) ([]byte, error) {
	name := []byte(c.Name(value))
	return name, c.Parse(&value, name)
}

// Parse sets *value to the index of the given name, or to 0 if the name is empty. It fails if the name is unknown.
func (c Choice) Parse(value *int, name []byte) error {
	i := slices.Index(c.Names, cmp.Or(string(name), c.Names[0]))
	if i < 0 {
		return fmt.Errorf("%s %q, want %s", c.Of, name, c)
	}
	*value = i
	return nil
}

// String returns a list of the names, such as "a, b or c".
func (c Choice) String() string {
	last := len(c.Names) - 1
	return strings.Join(c.Names[:last], ", ") + " or " + c.Names[last]
}
