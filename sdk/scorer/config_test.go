package scorer_test

import (
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/scorer"
)

// TestValidate checks that Validate reports all configuration errors at once.
func TestValidate(t *testing.T) {
	bad := scorer.Program{Command: []string{"", "a\x00b"}, Workers: 1025, Timeout: -1, Backoff: -1}
	common := []string{
		`scorer: Command is ["" "a\x00b"], want a program and its arguments`,
		`scorer: Command[1] is "a\x00b", want an argument without a zero byte`,
		"scorer: Workers is 1025, want 0..1024 (0 means 1)",
		"scorer: Timeout is -1ns, want 0 (the default) or more",
		"scorer: Backoff is -1ns, want 0 (the default) or more",
	}
	stream := append(common, `scorer: Format is "xml", want "json" or "cbor"`,
		"scorer: Start is -1ns, want 0 (the default) or more")
	if err := (scorer.StreamConfig{Program: bad, Format: "xml", Start: -1}).Validate(); err == nil ||
		err.Error() != strings.Join(stream, "\n") {
		t.Errorf("error %v, want %s", err, strings.Join(stream, "\n"))
	}
	if _, err := scorer.OpenStream(t.Context(), scorer.StreamConfig{}); err == nil {
		t.Error("no error without a command")
	}
}
