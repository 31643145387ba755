package dpmech

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// names has the name of a type, followed by the names of its values 0, 1, ...
type names []string

// of returns the name of a value. If the value has no name, it returns the name of the type and the number.
func (n names) of(value int) string {
	if value < 0 || value >= len(n)-1 {
		return fmt.Sprintf("%s(%d)", n[0], value)
	}
	return n[value+1]
}

func (n names) text(value int) ([]byte, error) {
	name := []byte(n.of(value))
	return name, n.parse(&value, name)
}

// parse sets *value to the number of the given name; an empty name means 0.
func (n names) parse(value *int, name []byte) error {
	i := slices.Index(n[1:], cmp.Or(string(name), n[1]))
	if i < 0 {
		last := len(n) - 1
		return fmt.Errorf("dpmech: %s is %q, want %s or %s", strings.ToLower(n[0]), name, strings.Join(n[1:last], ", "), n[last])
	}
	*value = i
	return nil
}
