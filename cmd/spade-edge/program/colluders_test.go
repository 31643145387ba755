package program

import (
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// -colluders takes a number, a share of all members, or auto, and says what that comes to.
func TestColluders(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"2": "together with any 2 members", "1/3": "together with any 4 members", "half": "together with any 5 members",
		"auto": "together with any 2 members",
		"few":  "want a number of members, a share such as 1/3, half, or auto", "3/2": "want a share between 0 and 1",
	} {
		code, out, log := call("plan", "-graph", "complete", "-nodes", "10", "-dim", "40", "-samples", "100", "-colluders", given)
		if text := strings.Join(strings.Fields(out+log), " "); !strings.Contains(text, want) || strings.HasPrefix(want, "want") != (code != cli.ExitDone) {
			t.Errorf("%s: exit code %d, want %q in\n%s", given, code, want, text)
		}
		if chosen := strings.Contains(log, " -colluders "); chosen != (given == "1/3" || given == "half" || given == "auto") && code == cli.ExitDone {
			t.Errorf("%s: the number is named as chosen: %v", given, chosen)
		}
	}
}
