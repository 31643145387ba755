package fleetfile

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
)

// TestStop checks that one line of the fleet file states how many members can end a run early, and that the fleet's
// hash covers this number. The error for an invalid value must state the location in the file.
func TestStop(t *testing.T) {
	f := sample()
	before := f.Fleet.Hash()
	text, err := f.Marshal()
	if err != nil || strings.Contains(string(text), "stop") {
		t.Errorf("%v, without a stop:\n%s", err, text)
	}
	f.Fleet.Stop = &sdk.Stop{Members: 2}
	if text, err = f.Marshal(); err != nil || !strings.Contains(string(text), `"stop": {"members": 2}`) {
		t.Fatalf("%v\n%s", err, text)
	}
	back, err := parse(text, "", load)
	if err != nil || !reflect.DeepEqual(back, f) || back.Fleet.Hash() == before {
		t.Errorf("%v, read %+v", err, back)
	}
	for wrong, want := range map[string]string{
		`{}`:                          "stop.members is 0",
		`{"members": 0}`:              "stop.members is 0, want",
		`{"members": 9}`:              "stop.members is 9, want",
		`{"members": 4}`:              "stop.members is 4, want 1..3",
		`{"members": "2"}`:            "stop.members: found string",
		`{"members": 2, "by": ["a"]}`: `unknown field "by"`,
		`2`:                           "stop: found number, want an object",
		`null`:                        "has null: give a value",
	} {
		bad := strings.Replace(string(text), `{"members": 2}`, wrong, 1)
		if _, err := parse([]byte(bad), "", load); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", wrong, err, want)
		}
	}
}
