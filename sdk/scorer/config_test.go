package scorer_test

import (
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/scorer"
)

// TestValidate checks that Validate reports all configuration errors at once.
func TestValidate(t *testing.T) {
	bad := scorer.Program{Command: []string{"", "a\x00b"}, Environment: []string{"A=B", ""}, Workers: 1025, Timeout: -1, Backoff: -1}
	want := strings.Join([]string{
		`scorer: Command is ["" "a\x00b"], want a program and its arguments`,
		`scorer: Command[1] is "a\x00b", want an argument without a zero byte`,
		`scorer: Environment[0] is "A=B", want the name of a variable`, `scorer: Environment[1] is "", want the name of a variable`,
		"scorer: Workers is 1025, want 0..1024 (0 means 1)",
		"scorer: Timeout is -1ns, want 0 (the default) or more",
		"scorer: Backoff is -1ns, want 0 (the default) or more", `scorer: Format is "xml", want "json" or "cbor"`,
		"scorer: Start is -1ns, want 0 (the default) or more",
	}, "\n")
	if err := (scorer.StreamConfig{Program: bad, Format: "xml", Start: -1}).Validate(); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := scorer.OpenStream(t.Context(), scorer.StreamConfig{}); err == nil {
		t.Error("no error without a command")
	}
}
