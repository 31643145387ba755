package setting_test

import (
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// A range checks a value and describes itself; its error names the field for programs and for people.
func Example() {
	err := setting.Momentum.Check("fleet", "method.momentum", 1)
	wrong := (*setting.FieldError)(nil)
	fmt.Println(errors.As(err, &wrong), wrong.Field, "|", wrong.Want)
	fmt.Println(err)
	fmt.Println(setting.Tau, "|", setting.Gain)
	// Output:
	// true method.momentum | 0 or more, and less than 1
	// fleet: method.momentum is 1, want 0 or more, and less than 1
	// a whole number, 1..2147483647 | more than 0 and less than 1
}
