package node

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
)

// modelFile says what is in a model file, and whether the certificate in it is right and the model's.
func (r *inspection) modelFile(path string) error {
	m, err := builtin.ReadModel(path)
	if err != nil {
		return cli.AsUsageError(err)
	}
	fleet, sum := hex.EncodeToString(m.Fleet[:]), sdk.ModelHash(m.Weights)
	what := "last release"
	if m.Averaged {
		what = "mean of the releases"
	}
	r.row("run", "%q, round %d of %d by %q, %s", m.Run, m.Round, m.Rounds, m.Member, what)
	r.row("fleet_hash", "%s", fleet)
	r.row("model_sha256", "%s, of %d numbers", sum, len(m.Weights))
	if t := m.Task; t != nil {
		r.row("task", "%v on %s data fitted on %s", m.Task.Model, t.Source, t.FittedOn)
		if t.Target != nil {
			r.row("says", "%q, from %.6g to %.6g", t.Label, t.Target.Low, t.Target.High)
		} else {
			r.row("classes", "%s", strings.Join(t.Classes, ", "))
		}
		var columns []string
		for _, c := range t.Columns {
			columns = append(columns, c.Name)
		}
		r.row("columns", "%s", strings.Join(columns, ", "))
	} else {
		r.row("no_task", "%s: predict and evaluate refuse it", m.NoTask)
	}
	switch {
	case m.NonPrivate:
		r.row("privacy", "NOT PRIVATE: the model may reveal data of its members")
	case m.Certificate == nil:
		r.row("certificate", "none")
	default:
		r.modelCertificate(path, m, fleet)
	}
	return nil
}

// modelCertificate says whether the certificate in a model file is right and the model's.
func (r *inspection) modelCertificate(path string, m *builtin.Model, fleet string) {
	c, err := dpmech.ParseCertificate(m.Certificate)
	if err == nil {
		err = c.Verify()
	}
	if err == nil && (c.Run != m.Run || c.Fleet != fleet || c.Member != m.Member) {
		err = fmt.Errorf("it is of %q in run %q", c.Member, c.Run)
	}
	if r.fault = privacy.Right(path+": certificate", err); err == nil {
		r.row("certificate", "of %d releases; its numbers are right. Who wrote it, privacy -verify with -fleet shows", c.Rounds)
	} else {
		r.row("certificate", "not good: %v", err)
	}
}
