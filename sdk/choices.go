package sdk

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Estimator is the kind of estimate that a client makes of its gradient.
type Estimator int

const (
	EstimatorPaper    Estimator = iota // the estimator of the paper
	EstimatorCentered                  // subtracts from each loss the last one of its sample: far less variance
	EstimatorTracking                  // keeps a linear model of each loss over rounds, and asks nothing to fill a table
)

// Payload is what crosses the wire. The models are the same to the bit.
type Payload int

const (
	PayloadAuto    Payload = iota // PayloadRelease in a private run, PayloadMessage in another
	PayloadMessage                // m_ij of eq. (message), one for each neighbor
	PayloadRelease                // the released state itself, the same for all neighbors
)

var (
	estimators = []string{"paper", "centered", "tracking"}
	payloads   = []string{"", "message", "release"} // no name is a name
)

// String returns the name in files: paper, centered or tracking.
func (e Estimator) String() string { return settingName("Estimator", estimators, int(e)) }

// MarshalText returns the name, and an error if e is unknown.
func (e Estimator) MarshalText() ([]byte, error) {
	name := []byte(e.String())
	return name, e.UnmarshalText(name)
}

// UnmarshalText reads a name; no name means EstimatorPaper.
func (e *Estimator) UnmarshalText(name []byte) error {
	return parseSetting((*int)(e), "estimator", estimators, string(name))
}

// String returns the name in files: message, release, or nothing for Auto.
func (p Payload) String() string { return settingName("Payload", payloads, int(p)) }

// MarshalText returns the name, and an error if p is unknown.
func (p Payload) MarshalText() ([]byte, error) {
	name := []byte(p.String())
	return name, p.UnmarshalText(name)
}

// UnmarshalText reads a name.
func (p *Payload) UnmarshalText(name []byte) error {
	return parseSetting((*int)(p), "payload", payloads, string(name))
}

func settingName(kind string, names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, i)
	}
	return names[i]
}

// oneOf writes names as a choice: "a, b or c".
func oneOf(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func parseSetting(to *int, kind string, names []string, name string) error {
	i := slices.Index(names, cmp.Or(name, names[0]))
	if i < 0 {
		return fmt.Errorf("sdk: %s %q, want %s", kind, name, oneOf(slices.DeleteFunc(slices.Clone(names),
			func(s string) bool { return s == "" })))
	}
	*to = i
	return nil
}
