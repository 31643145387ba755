package admm

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestScheduleJSON(t *testing.T) {
	for text, want := range map[string]Schedule{"0.5": {0.5}, " [ 1, 2e-3 ] ": {1, 0.002}, "[3]": {3}, "[ ]": {}, "[[1]]": nil, "[1,[2]]": nil,
		`"1"`: nil, "{}": nil, "[1,true]": nil, "1e999": nil} {
		var s Schedule
		if err := json.Unmarshal([]byte(text), &s); (err == nil) != (want != nil) || err == nil && !slices.Equal(s, want) {
			t.Errorf("%s: %v, %v, want %v", text, s, err, want)
		}
	}
}
