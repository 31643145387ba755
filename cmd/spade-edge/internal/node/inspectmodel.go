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

// costOf returns what a private run will have cost when it is over.
func costOf(f *sdk.Fleet) dpmech.Cost {
	return dpmech.CostOf(f.Total(f.Method.Rounds), f.Privacy.Delta)
}

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
	r.add("run", m.Run, "%q, round %d of %d by %q, %s", m.Run, m.Round, m.Rounds, m.Member, what)
	r.add("name", m.Member, "")
	r.add("round", m.Round, "")
	r.say("fleet_hash", fleet)
	r.add("dim", len(m.Weights), "")
	r.add("model_sha256", sum, "%s, of %d numbers", sum, len(m.Weights))
	r.add("predicts", m.Task != nil, "")
	if t := m.Task; t != nil {
		r.row("task", "%v on %s data fitted on %s", m.Task.Model, t.Source, t.FittedOn)
		if t.Target != nil {
			r.row("says", "%q, from %.6g to %.6g", t.Label, t.Target.Low, t.Target.High)
		} else {
			r.add("classes", t.Classes, "%s", strings.Join(t.Classes, ", "))
		}
		var columns []string
		for _, c := range t.Columns {
			columns = append(columns, c.Name)
		}
		r.add("columns", columns, "%s", strings.Join(columns, ", "))
	} else {
		r.add("no_task", m.NoTask, "%s: predict and evaluate refuse it", m.NoTask)
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
	r.add("certificate_verified", err == nil, "")
	if r.fault = privacy.Right(path+": certificate", err); err == nil {
		r.row("certificate", "of %d releases; its numbers are right. Who wrote it, privacy -verify with -fleet shows", c.Rounds)
	} else {
		r.row("certificate", "not good: %v", err)
	}
}
