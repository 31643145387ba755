package sdk

import (
	"cmp"
	"fmt"
	"slices"
)

// Estimator is the kind of estimate that a client makes of its gradient.
type Estimator int

const (
	// EstimatorPaper is the estimator of the paper.
	EstimatorPaper Estimator = iota
	// EstimatorCentered subtracts from each loss the last one of its sample: far less variance at the same number of
	// queries.
	EstimatorCentered
)

// Payload is what crosses the wire. All payloads give the same models, to the bit.
type Payload int

const (
	// PayloadAuto is PayloadRelease in a private run and PayloadMessage in one that is not.
	PayloadAuto Payload = iota
	// PayloadMessage is m_ij of eq. (message), one for each neighbor.
	PayloadMessage
	// PayloadRelease is the released state itself, encoded once for all neighbors.
	PayloadRelease
)

var (
	estimators = []string{"paper", "centered"}
	payloads   = []string{"", "message", "release"}
)

// String returns the estimator's name in files: paper or centered.
func (e Estimator) String() string { return settingName("Estimator", estimators, int(e)) }

// MarshalText returns the name of a known estimator.
func (e Estimator) MarshalText() ([]byte, error) {
	name := []byte(e.String())
	return name, e.UnmarshalText(name)
}

// UnmarshalText sets e to the estimator of a name; no name means EstimatorPaper.
func (e *Estimator) UnmarshalText(name []byte) error {
	return parseSetting((*int)(e), "estimator", estimators, string(name))
}

// String returns the payload's name in files: message, release or, for PayloadAuto, nothing.
func (p Payload) String() string { return settingName("Payload", payloads, int(p)) }

// MarshalText returns the name of a known payload.
func (p Payload) MarshalText() ([]byte, error) {
	name := []byte(p.String())
	return name, p.UnmarshalText(name)
}

// UnmarshalText sets p to the payload of a name.
func (p *Payload) UnmarshalText(name []byte) error {
	return parseSetting((*int)(p), "payload", payloads, string(name))
}

func settingName(kind string, names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, i)
	}
	return names[i]
}

func parseSetting(to *int, kind string, names []string, name string) error {
	i := slices.Index(names, cmp.Or(name, names[0]))
	if i < 0 {
		return fmt.Errorf("sdk: %s %q, want %s or %s", kind, name, names[len(names)-2], names[len(names)-1])
	}
	*to = i
	return nil
}
