package program

import (
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// The bound on neighbors is on by default where it costs an honest run almost nothing, unless a flag turns it off or
// conflicts with it. If it is off, a line says what a malicious member can do.
func TestRobustByDefault(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"-nodes 12": "1.5", "-nodes 12 -robust off": "", "-nodes 12 -robust 0": "", "-nodes 5": "", "-nodes 6": "2", "-nodes 12 -graph ring": "",
		"-nodes 12 -payload message": "", "-nodes 12 -consensus chebyshev": "", "-nodes 12 -colluders 1": "",
		"-nodes 12 -unit record": "2", "-nodes 12 -non-private": "2", "-nodes 12 -non-private -graph regular:6": "",
	} {
		args := append(strings.Fields("plan -graph complete -dim 6 -samples 100"), strings.Fields(flags)...)
		code, out, log := call(args...)
		text := strings.Join(strings.Fields(out+log), " ")
		_, after, on := strings.Cut(text, " -robust ")
		if code != cli.ExitDone || on && !strings.HasPrefix(after, want+" ") && !strings.HasPrefix(after, "is off") ||
			strings.Contains(text, "-robust is off") != (want == "") {
			t.Errorf("%s: exit code %d, want -robust %q in\n%s", flags, code, want, text)
		}
	}
}
