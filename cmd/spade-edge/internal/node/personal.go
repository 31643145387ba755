package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// personalize fits a model further on the node's own records, puts the result in its place, and compares. judges is where samples to judge
// by are; if it is empty, those that the node holds back.
func personalize(ctx context.Context, m *builtin.Model, node *fleetfile.Node, file *fleetfile.File, judges string) (*setup.Personal, error) {
	b := builtin.Of(node)
	if b == nil {
		return nil, cli.Usage("-personal: the losses come from a program, which alone knows how to learn from own records")
	}
	p, err := cli.Prompt(ctx, func() (*setup.Personal, error) {
		train, test, recipe, err := b.Records(file)
		if err == nil && judges != "" {
			var set *task.Set
			if set, err = recipe.Apply(task.Spec{Source: judges, NA: b.Spec.NA, Whole: true, Seed: b.Spec.Seed}); err == nil {
				test = set.Train
			}
		}
		if err != nil {
			return nil, setup.WithFlags(err)
		}
		if test.Len() == 0 {
			return nil, cli.Usage("-personal: the node holds no samples back that could judge; -data names some that nobody has learned from")
		}
		m.Task, m.NoTask, m.Certificate = recipe, "", nil
		start := file.Fleet.X0
		if start == nil {
			start = make([]float32, len(m.Weights))
		}
		return setup.Personalize(ctx, recipe.Model, m.Weights, start, recipe.PCA != nil || recipe.Pixels > 0, train, test)
	})
	if err != nil {
		return nil, err
	}
	m.Weights, m.Personal = p.Model, &builtin.Personal{Rounds: p.Personal.Rounds, Samples: p.Records}
	return p, nil
}

// writePersonal compares the three models.
func writePersonal(t cli.Table, p *setup.Personal) {
	t.Row("personal", "fitted further on %d own records, without noise: it may give them away, and stays on this device", p.Records)
	what, besides := "accuracy", "AUC"
	if p.Shared.Regression != nil {
		what, besides = "RMSE", "MAE"
	}
	fmt.Fprintf(t, "\n%-10s %6s %8s  %-24s %s\n", "model", "rounds", "loss", what, besides)
	for _, row := range []struct {
		name string
		setup.Judged
	}{{"shared", p.Shared}, {"own", p.Own}, {"personal", p.Personal}} {
		first, second := "", ""
		if m := row.Regression; m != nil {
			first, second = number(&m.RMSE), number(&m.MAE)
		} else {
			m := row.Classification
			first, second = percent(&m.Accuracy), "-"
			if m.Binary != nil {
				second = number(m.Binary.AUC)
			}
		}
		fmt.Fprintf(t, "%-10s %6d %8.4f  %-24s %s\n", row.name, row.Rounds, row.Loss, first, second)
	}
	sure := "but the others are about as good"
	if len(p.Beats) > 0 {
		sure = "beyond chance better than " + strings.Join(p.Beats, " and ")
	}
	fmt.Fprintf(t, "\nbest here, by the loss on %d samples that none has learned from: %s, %s\n", p.Samples, p.Best, sure)
	fmt.Fprintf(t, "personal began from %s\n", []string{"the shared model", "half way between the start of the run and the shared model",
		"the start of the run"}[p.Personal.Start])
}
