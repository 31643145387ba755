package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/verdict"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
)

// Evaluation is the result of the evaluate command, printed as text or JSON: a model's scores on some data.
type Evaluation struct {
	*Applied
	Classification *score.ClassMetrics  `json:"classification,omitempty"`
	Regression     *score.NumberMetrics `json:"regression,omitempty"`
	Survival       *survival.Metrics    `json:"survival,omitempty"`
	Advice         []string             `json:"advice,omitempty"` // what is wrong with the scores, and what to try
	// Recalibration is the result of -recalibrate, which has no other.
	Recalibration *verdict.Recalibrated `json:"recalibration,omitempty"`
}

// advise says if the model is no better than a trivial answer, and what to try.
func (r *Evaluation) advise() {
	add := func(format string, args ...any) { r.Advice = append(r.Advice, fmt.Sprintf(format, args...)) }
	ranks := func(measure string, of *score.Estimate) {
		if of == nil || of.Value >= 0.5 {
			return
		}
		sure := "the wrong way round"
		if of.High >= 0.5 {
			sure = "no better than chance"
		}
		add("%s is below 0.5: the model ranks these samples %s; check that %q and %q mean here what they mean to the model, and that the "+
			"columns have its units", measure, sure, r.file.Task.Classes[0], r.file.Task.Classes[1])
	}
	switch m := r.Classification; {
	case r.Regression != nil:
		if r.Regression.RMSE.Value > r.Regression.MeanRMSE {
			add("the model is worse than always saying the mean of these samples: check the unit of %q and of the columns, or use a model "+
				"of own rows", r.Target)
		}
	case r.Survival != nil:
		if r.Survival.CIndex == nil {
			add("no two of these samples can be compared: one of them needs an event that is earlier than the other's time")
		}
		ranks("C-index", r.Survival.CIndex)
	default:
		if m.Binary != nil {
			ranks("AUC", m.Binary.AUC)
		}
		if m.Accuracy.Value < m.Majority {
			try := "check labels and columns, or use a model of own rows"
			if m.Binary != nil && r.Threshold == nil {
				try = "try -threshold youden, " + try
			}
			add("the model is right less often than always saying the most frequent class: %s", try)
		}
	}
}

// Evaluate is the command that scores a model file on labeled samples.
func Evaluate(ctx context.Context, c *cli.Cmdline) error {
	var r Evaluation
	rule := c.String("threshold", "", "two classes: the `probability` from which the second one is predicted: youden or "+
		"sensitivity:0.9, chosen on these samples, or a number")
	to := c.String("out", "", "with -threshold: write a copy of the model with this site's threshold to this `file`")
	draw := c.String("svg", "", "survival: draw Kaplan-Meier curves of groups by predicted risk to this `file`")
	force := c.Bool("force", false, "overwrite an existing file")
	again := c.Bool("recalibrate", false, "without -data: fit a recalibration to this site's training rows, for predict on this device")
	var err error
	r.Applied, err = apply(c, again, func(a *Applied) (err error) {
		if err := a.checkSurvival(*draw, *rule, *again, *force); err != nil {
			return err
		}
		if *again {
			if a.Data != "" || *rule != "" || *to != "" {
				return cli.Usage("-recalibrate uses the rows of the node's own data: it cannot be combined with -data, -threshold or -out")
			}
			r.Recalibration, err = a.recalibrate(ctx)
			return err
		}
		if here, err := a.recalibration(io.Discard); here != nil && err == nil {
			fmt.Fprintln(c.Log, "these scores are of the model as it is; predict on this device recalibrates it")
		}
		if err := a.choose(*rule, *to); err != nil {
			return err
		}
		scores, err := a.predictor.Evaluate(a.Data, os.Stdin, a.seed)
		r.Classification, r.Regression, r.Survival = scores.Classes, scores.Numbers, scores.Survival
		return err
	})
	if err != nil {
		return err
	}
	if r.Recalibration != nil {
		return c.Print(r, r.recalibration)
	}
	r.advise()
	if *draw != "" {
		drawing := cli.Written{Path: *draw, Content: r.Survival.SVG(r.cuts)}
		if err := cli.WriteAll([]cli.Written{drawing}, *force); err != nil {
			return err
		}
	}
	kept := ""
	if *rule == "" {
		kept = "of this copy"
	} else if *to != "" {
		kept = "kept in " + *to + ", for this site alone"
		r.file.Threshold = r.Threshold
		text, err := r.file.Marshal()
		if err == nil {
			err = cli.WriteAll([]cli.Written{{Path: *to, Content: text}}, *force)
		}
		if err != nil {
			return err
		}
	}
	return c.Print(r, func(t cli.Table) { r.write(t, kept) })
}

// write prints the scores. kept says where the threshold is kept, or is empty if it is not.
func (r *Evaluation) write(t cli.Table, kept string) {
	t.Row("model", "release %d of %d of run %q by %q, model_sha256 %s", r.Round, r.file.Rounds, r.Run, r.Name, r.Model)
	if r.Survival != nil {
		r.survival(t)
		return
	}
	if m := r.Regression; m != nil {
		t.Row("samples", "%d, of %q", m.Samples, r.Target)
		t.Row("RMSE", "%s; always saying the mean: %.4g", number(&m.RMSE), m.MeanRMSE)
		t.Row("MAE", "%s; always saying the mean: %.4g", number(&m.MAE), m.MeanMAE)
		t.Row("R2", "%s; always saying the mean: 0", number(m.R2))
		t.Row("intervals", "95 %%, in brackets")
		r.advice(t)
		return
	}
	if th := r.Threshold; th != nil {
		t.Row("threshold", "%q is predicted from %.4g on (%s by %d samples, %s)", r.Classes[1], th.Value, th.Rule, th.Samples,
			cmp.Or(kept, "not kept: -out FILE writes a copy of the model with it"))
	}
	r.advice(t)
	classMetrics(t, r.Classification, r.Classes)
}

func (r *Evaluation) advice(t cli.Table) {
	for _, text := range r.Advice {
		t.Wrap("warning", "%s", text)
	}
}

// classMetrics prints the scores for predicted classes.
func classMetrics(t cli.Table, m *score.ClassMetrics, classes []string) {
	t.Row("accuracy", "%s of %d samples; always saying the most frequent class: %.2f %%", percent(&m.Accuracy), m.Samples, 100*m.Majority)
	if b := m.Binary; b != nil {
		t.Row("sensitivity", "%s, of the samples of %q", percent(b.Sensitivity), classes[1])
		t.Row("specificity", "%s, of the samples of %q", percent(b.Specificity), classes[0])
		t.Row("PPV", "%s, of those predicted to be %q", percent(b.PPV), classes[1])
		t.Row("NPV", "%s, of those predicted to be %q", percent(b.NPV), classes[0])
		t.Row("AUC", "%s", number(b.AUC))
		t.Row("Brier", "%s", number(&b.Brier))
	}
	t.Row("macro F1", "%.4g", m.MacroF1)
	t.Row("intervals", "95 %%, in brackets")
	fmt.Fprintf(t, "\n%-20s", "is \\ said")
	for _, name := range classes {
		fmt.Fprintf(t, " %12.12s", name)
	}
	fmt.Fprintf(t, "  %-22s %s\n", "recall", "precision")
	for k, name := range classes {
		fmt.Fprintf(t, "%-20.20s", name)
		for _, count := range m.Confusion[k] {
			fmt.Fprintf(t, " %12d", count)
		}
		fmt.Fprintf(t, "  %-22s %s\n", percent(m.PerClass[k].Recall), percent(m.PerClass[k].Precision))
	}
	if m.Binary == nil {
		return
	}
	fmt.Fprintf(t, "\n%-20.20s %12s %12s  observed\n", "p of "+classes[1], "samples", "mean p")
	for k, tenth := range m.Binary.Calibration {
		if tenth.Samples > 0 {
			fmt.Fprintf(t, "%.1f to %-13.1f %12d %12.3f  %s\n", float64(k)/10, float64(k+1)/10, tenth.Samples, tenth.Said, percent(tenth.Found))
		}
	}
}

// percent formats an estimated fraction in percent, with its confidence interval.
func percent(e *score.Estimate) string { return estimate(e, "%.2f %% [%.1f, %.1f]", 100) }

// number formats an estimate with its confidence interval.
func number(e *score.Estimate) string { return estimate(e, "%.4g [%.4g, %.4g]", 1) }

func estimate(e *score.Estimate, format string, unit float64) string {
	if e == nil {
		return "none"
	}
	return fmt.Sprintf(format, unit*e.Value, unit*e.Low, unit*e.High)
}

// choose sets the decision threshold to the threshold in the model file or, if rule is given, to the threshold that
// rule selects on the samples.
func (a *Applied) choose(rule, to string) error {
	text, found := strings.CutPrefix(rule, "sensitivity:")
	number, err := strconv.ParseFloat(text, 64)
	switch {
	case rule == "" && to != "":
		return cli.Usage("-out needs -threshold: without a new threshold, the copy of the model would be identical")
	case rule != "" && len(a.Classes) != 2:
		return cli.Usage("-threshold needs a model with two classes")
	case rule != "" && rule != "youden" && !(err == nil && number > 0 && number < 1):
		return cli.Usage("-threshold is %q, want youden, sensitivity:S or a number; S and the number must be between 0 and 1", rule)
	case rule == "" && a.Threshold == nil:
		return nil
	}
	a.predictor.Threshold = func(is []int, probability []float64) (value float64, err error) {
		if rule == "" {
			return a.Threshold.Value, nil
		} else if value = number; found || rule == "youden" {
			value, err = cut(is, probability, number)
		}
		a.Threshold = &builtin.Threshold{Value: value, Rule: rule, Samples: len(is)}
		return value, err
	}
	return nil
}

// cut returns the decision threshold with the highest specificity among all thresholds whose sensitivity is not below
// the parameter least. If least is 0, cut instead maximizes the sum of sensitivity and specificity (Youden 1950). The
// highest threshold wins a tie. A threshold lies midway between the probabilities of two samples, or below all
// probabilities.
func cut(is []int, probability []float64, least float64) (at float64, err error) {
	order, count, above := make([]int, len(is)), [2]int{}, [2]int{}
	for i, y := range is {
		order[i] = i
		count[y]++
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(probability[b], probability[a]) })
	best := math.Inf(-1)
	for k, i := range order {
		above[is[i]]++
		p, next := probability[i], 0.0
		if k+1 < len(order) {
			next = probability[order[k+1]]
		}
		sensitivity := float64(above[1]) / float64(count[1])
		worth := float64(count[0]-above[0]) / float64(count[0])
		if least == 0 {
			worth += sensitivity
		}
		if sensitivity >= least && p > next && worth > best {
			best, at = worth, p-(p-next)/2
		}
	}
	if count[0] == 0 || count[1] == 0 || at == 0 {
		return 0, errors.New("-threshold needs samples of both classes and predicted probabilities above 0")
	}
	return at, nil
}
