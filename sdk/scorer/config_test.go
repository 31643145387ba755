package scorer_test

import (
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/scorer"
)

// All faults of a configuration are told at once.
func TestValidate(t *testing.T) {
	bad := scorer.Program{Command: []string{"", "a\x00b"}, Workers: 1025, Timeout: -1, Backoff: -1, Memory: 4096}
	common := []string{
		`scorer: Command is ["" "a\x00b"], want a program and its arguments`,
		`scorer: Command[1] is "a\x00b", want it without a zero byte`,
		"scorer: Workers is 1025, want 0 (one) to 1024",
		"scorer: Memory is 4096, want 0 (no limit) or at least 1048576 bytes",
		"scorer: Timeout is -1ns, want 0 (the default) or more",
		"scorer: Backoff is -1ns, want 0 (the default) or more",
	}
	stream := append(common, `scorer: Format is "xml", want "json", "base64" or "cbor"`,
		"scorer: Start is -1ns, want 0 (the default) or more")
	if err := (scorer.StreamConfig{Program: bad, Format: "xml", Start: -1}).Validate(); err == nil ||
		err.Error() != strings.Join(stream, "\n") {
		t.Errorf("error %v, want %s", err, strings.Join(stream, "\n"))
	}
	shot := append(common, `scorer: Command is ["" "a\x00b"], want an argument with {sample}, which stands for the number of the sample`,
		"scorer: Samples is 0, want 1..2147483647")
	if err := (scorer.OneShotConfig{Program: bad}).Validate(); err == nil || err.Error() != strings.Join(shot, "\n") {
		t.Errorf("error %v, want %s", err, strings.Join(shot, "\n"))
	}
	if err := (scorer.OneShotConfig{}).Validate(); err == nil {
		t.Error("no error without a command")
	}
	if _, err := scorer.OpenOneShot(scorer.OneShotConfig{Program: scorer.Program{Command: []string{"x", "{sample}"}},
		Samples: 1}, 0); err == nil ||
		!strings.Contains(err.Error(), "scorer: dim is 0, want 1..") {
		t.Errorf("error %v", err)
	}
	if _, err := scorer.OpenStream(t.Context(), scorer.StreamConfig{}); err == nil {
		t.Error("no error without a command")
	}
	missing := scorer.OneShotConfig{Program: scorer.Program{Command: []string{"./absent", "{sample}"}, Dir: t.TempDir()},
		Samples: 1}
	if _, err := scorer.OpenOneShot(missing, 1); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("error %v", err)
	}
}
