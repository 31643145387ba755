package privacy

import (
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Evidence is what a verification of evidence has shown, and its JSON.
type Evidence struct {
	Evidence []Double `json:"evidence"`
}

// Double is one piece of evidence: two releases of one round.
type Double struct {
	Member   string `json:"member"`
	Round    int    `json:"round"`
	Meaning  string `json:"meaning"`
	Verified bool   `json:"verified"`        // the member's keys in the fleet file have made both signatures
	Fault    string `json:"fault,omitempty"` // why it does not count
}

// verifyEvidence checks both signatures of each piece by the keys in the fleet file.
func (o *privacyOptions) verifyEvidence(list []signed.Evidence) error {
	if o.fleet == "" {
		return cli.AsUsageError(fmt.Errorf("-fleet is missing: %s is evidence, which is checked by the keys in the fleet file", o.verify))
	}
	file, err := fleetfile.Read(o.fleet)
	if err != nil {
		return cli.AsUsageError(err)
	}
	var v Evidence
	var faults []error
	for _, e := range list {
		one := Double{Member: e.Member, Round: e.Round, Meaning: e.String()}
		err := e.Verify(file.Fleet.Run, file.Fleet.Hash(), file.SigningKeys(e.Member))
		if one.Verified = err == nil; err != nil {
			one.Fault = err.Error()
			faults = append(faults, fmt.Errorf("evidence against %q: %w", e.Member, err))
		}
		v.Evidence = append(v.Evidence, one)
	}
	err = o.Print(v, func(t cli.Table) {
		for _, one := range v.Evidence {
			judged := "both signatures are good"
			if !one.Verified {
				judged = "it does not count: " + one.Fault
			}
			t.Row("evidence", "%s; %s", one.Meaning, judged)
		}
	})
	if err == nil && faults != nil {
		return cli.AsExit(errors.Join(faults...), cli.ExitFailed)
	}
	return err
}
