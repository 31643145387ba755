package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// personalize fits the model m further to the node's own records, replaces m's weights with the result, and returns a
// comparison of both models. judges is the file with the samples for the comparison. If judges is empty, personalize
// uses the node's held-out samples.
func personalize(ctx context.Context, m *builtin.Model, node *fleetfile.Node, file *fleetfile.File, judges string) (p *setup.Personal, err error) {
	b := builtin.Of(node)
	if b == nil {
		return nil, cli.Usage("-personal needs a built-in model: this node's losses come from a program")
	}
	own, err := node.Oracle.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	test := &task.Data{}
	if held, some := own.Test.(interface{ Data() *task.Data }); some {
		test = held.Data()
	}
	if judges != "" {
		set, err := m.Task.Apply(task.Spec{Source: judges, NA: b.Spec.NA, Whole: true, Seed: b.Spec.Seed})
		if err != nil {
			return nil, setup.WithFlags(err)
		}
		test = set.Train
	} else if test.Len() == 0 {
		return nil, cli.Usage("-personal: the node has no held-out samples on which to compare the models; give " +
			"samples with -data")
	}
	all, read := own.Oracle.(*task.Model).Data(), []int{}
	for i := range all.Len() {
		if !slices.ContainsFunc(all.Row(i), func(x float32) bool { return x != x }) { // a row that could not be read has NaN
			read = append(read, i)
		}
	}
	start := file.Fleet.X0
	if start == nil {
		start = make([]float32, len(m.Weights))
	}
	lopsided := m.Task.PCA != nil || m.Task.Pixels > 0
	if p, err = setup.Personalize(ctx, m.Task.Model, m.Weights, start, lopsided, all.Select(read), test); err != nil {
		return nil, err
	}
	m.Weights, m.Personal, m.Certificate = p.Models[2].Model, true, nil
	return p, nil
}

func writePersonal(t cli.Table, p *setup.Personal) {
	t.Row("personal", "fitted further on %d own records, without noise: it may reveal them, and must stay on this device", p.Records)
	for i, m := range p.Models {
		what, worth, besides, more := "accuracy", "", "AUC", "none"
		if r := m.Regression; r != nil {
			what, worth, besides, more = "RMSE", number(&r.RMSE), "MAE", number(&r.MAE)
		} else if worth = percent(&m.Classification.Accuracy); m.Classification.Binary != nil {
			more = number(m.Classification.Binary.AUC)
		}
		if i == 0 {
			fmt.Fprintf(t, "\n%-10s %6s %8s  %-24s %s\n", "model", "rounds", "loss", what, besides)
		}
		fmt.Fprintf(t, "%-10s %6d %8.4f  %-24s %s\n", m.Name, m.Rounds, m.Loss, worth, more)
	}
	sure := "but the others are about as good"
	if len(p.Beats) > 0 {
		sure = "significantly better than " + strings.Join(p.Beats, " and ")
	}
	fmt.Fprintf(t, "\nbest here, on samples that were not used to train or choose a model: %s, %s\n", p.Best, sure)
}
