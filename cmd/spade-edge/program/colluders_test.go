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

// The bound on neighbors is there where it costs an honest run next to nothing, unless it is switched off, or something is asked
// for that it does not go with; where it is off, a line says what a bad member can do.
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

// Chebyshev's steps need releases, and go without a bound on neighbors. Where one of the two is asked for, the method's own
// steps are the default, and Chebyshev's by name an error.
func TestConsensus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, want string }{
		{"", "-consensus chebyshev"}, {"-consensus admm", "-colluders"}, {"-payload message", "-colluders"}, {"-robust 2", "-colluders"},
		{"-payload message -consensus chebyshev", "-consensus is \"chebyshev\", want admm, as the payload is not release"},
		{"-robust 2 -consensus chebyshev", "-consensus is \"chebyshev\", want admm, as robust bounds the steps of the method alone"},
		{"-consensus fast", "want admm or chebyshev"},
	} {
		args := append(strings.Fields("plan -graph complete -nodes 10 -dim 40 -samples 100 -colluders auto"), strings.Fields(c.given)...)
		code, out, log := call(args...)
		text := strings.Join(strings.Fields(out+log), " ")
		if !strings.Contains(text, c.want) || (code != cli.ExitDone) != strings.Contains(c.want, "want admm") {
			t.Errorf("%s: exit code %d, want %q in\n%s", c.given, code, c.want, text)
		}
		if chosen := strings.Contains(log, "-consensus chebyshev"); chosen != (c.given == "") {
			t.Errorf("%s: Chebyshev's steps are chosen: %v", c.given, chosen)
		}
	}
}
