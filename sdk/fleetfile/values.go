package fleetfile

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Conditions on numbers and text.
func positive(x float64) bool { return x > 0 }
func share(x float64) bool    { return x > 0 && x < 1 }
func anything[T any](T) bool  { return true }
func trimmed(s string) bool   { return s == strings.TrimSpace(s) }

func within(lo, hi float64) func(float64) bool {
	return func(x float64) bool { return x >= lo && x <= hi }
}

// scalar is a value that parse reads, of which want says what it may be. It reports whether to is set.
func scalar[T comparable](v *value, to *T, want string, parse func(raw string) (x T, ok bool)) bool {
	if put(v, *to) {
		return true
	}
	x, ok := parse(string(v.raw))
	if !ok {
		v.wrong(want)
		return false
	}
	*to = x
	return true
}

// text is a string that ok accepts.
func (v *value) text(to *string, want string, ok func(string) bool) bool {
	return scalar(v, to, want, func(raw string) (s string, good bool) {
		good = v.kind() == '"' && json.Unmarshal(v.raw, &s) == nil && ok(s)
		return s, good
	})
}

// name is a name of 1 to 64 bytes.
func (v *value) name(to *string) bool {
	want := fmt.Sprintf("a name of 1..%d bytes", maxName)
	return v.text(to, want, func(s string) bool { return len(s) >= 1 && len(s) <= maxName })
}

// choice is one of the given strings.
func (v *value) choice(to *string, options ...string) bool {
	last := len(options) - 1
	want := options[last]
	if last > 0 {
		want = strings.Join(options[:last], ", ") + " or " + want
	}
	return v.text(to, want, func(s string) bool { return slices.Contains(options, s) })
}

// setting is one of the options, which are the names of to's values; the name of a value that is never written is empty.
func (v *value) setting(to interface {
	encoding.TextMarshaler
	encoding.TextUnmarshaler
}, options ...string) {
	name, err := to.MarshalText()
	v.c.include("", err)
	if text := string(name); v.choice(&text, options...) && !v.c.writing {
		_ = to.UnmarshalText([]byte(text)) // it is one of the options
	}
}

// texts is an array of strings that ok accepts, in one line.
func (v *value) texts(to *[]string, want string, ok func(string) bool) {
	v.inline = true
	array(v, "an array of strings, each "+want, to, func(e *value, s *string) bool { return e.text(s, want, ok) })
}

// integer is a whole number of lo..hi.
func (v *value) integer(to *int, lo, hi int) bool {
	return scalar(v, to, fmt.Sprintf("a whole number, %d..%d", lo, hi), func(raw string) (int, bool) {
		n, err := strconv.ParseInt(raw, 10, 64)
		return int(n), err == nil && n >= int64(lo) && n <= int64(hi)
	})
}

// seed is any uint64.
func (v *value) seed(to *uint64) {
	scalar(v, to, fmt.Sprintf("a whole number, 0..%d", uint64(math.MaxUint64)), func(raw string) (uint64, bool) {
		n, err := strconv.ParseUint(raw, 10, 64)
		return n, err == nil
	})
}

// number is a number that ok accepts.
func (v *value) number(to *float64, want string, ok func(float64) bool) bool {
	return scalar(v, to, want, func(raw string) (float64, bool) {
		x, err := strconv.ParseFloat(raw, 64)
		k := v.kind()
		return x, (k == '-' || k >= '0' && k <= '9') && err == nil && ok(x)
	})
}

// numbers is an array of numbers, in one line.
func (v *value) numbers(to *[]float64) bool {
	v.inline = true
	_, whole := array(v, "an array of numbers", to, func(e *value, x *float64) bool {
		return e.number(x, "a number", anything[float64])
	})
	return whole
}

// schedule is a positive number, or a list of one for each round. rounds is 0 if it is not known.
func (v *value) schedule(to *[]float64, rounds int) {
	const want = "a positive number that float32 can hold"
	float32s := within(0x1p-126, math.MaxFloat32)
	if v.kind() != '[' && len(*to) == 1 {
		v.number(&(*to)[0], want+", or a list of one for each round", float32s)
		return
	}
	v.inline = true
	list := *to
	count, whole := array(v, "", &list, func(e *value, x *float64) bool { return e.number(x, want, float32s) })
	if count != 1 && count != rounds && (rounds > 0 || count == 0) {
		v.c.fault("%s has %d values, want one number, or one for each of %d rounds", v.at(), count, rounds)
	} else if whole && rounds > 0 && !v.c.writing {
		*to = list
	}
}

// boolean is true or false.
func (v *value) boolean(to *bool) {
	scalar(v, to, "true or false", func(raw string) (b, ok bool) { return raw == "true", raw == "true" || raw == "false" })
}
