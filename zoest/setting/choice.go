package setting

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Choice is what a setting with names may be. A value is the place of its name.
type Choice struct {
	Of    string   // what is chosen: "sdk: payload"
	Names []string // the first one may be empty; no name at all is the first
}

// Name returns the name of a value, or its number if it has none.
func (c Choice) Name(value int) string {
	if value < 0 || value >= len(c.Names) {
		return strconv.Itoa(value)
	}
	return c.Names[value]
}

// Text returns the name of a value, and an error if it has none.
func (c Choice) Text(value int) ([]byte, error) {
	name := []byte(c.Name(value))
	return name, c.Parse(&value, name)
}

// Parse sets value to that of a name.
func (c Choice) Parse(value *int, name []byte) error {
	i := slices.Index(c.Names, string(name))
	if len(name) == 0 {
		i = 0
	}
	if i < 0 {
		return fmt.Errorf("%s %q, want %s", c.Of, name, c)
	}
	*value = i
	return nil
}

// String returns the names that there are: "a, b or c".
func (c Choice) String() string {
	names := slices.DeleteFunc(slices.Clone(c.Names), func(s string) bool { return s == "" })
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
