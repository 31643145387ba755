package setup

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk/task"
)

// TwoClasses is what models are worth on test data of two classes, over clients, each with the model that it holds at
// the end, and its JSON. Shares are in percent.
type TwoClasses struct {
	Positive    string   `json:"positive_class"` // the second one
	AUC         *float64 `json:"auc_mean"`
	Sensitivity *float64 `json:"sensitivity_mean"`
	Specificity *float64 `json:"specificity_mean"`
}

// judge says what each model is worth on the test data; nil of one with a parameter that is NaN.
func (p *Problem) judge(models [][]float32) []*task.ClassMetrics {
	judged := make([]*task.ClassMetrics, len(models))
	shared(len(models), func(i int) { judged[i], _ = p.Test.Judge(models[i]) })
	return judged
}

// tell fills in what an accuracy does not tell. What is known of no model stays nil.
func (a *Accuracies) tell(p *Problem, judged []*task.ClassMetrics) {
	var f1, auc, sensitivity, specificity []float64
	for _, m := range judged {
		if m == nil {
			return // a parameter is NaN, and so the accuracy is 0
		}
		f1 = append(f1, m.MacroF1.Value)
		if b := m.Binary; b != nil && b.AUC != nil { // both classes are there
			auc = append(auc, b.AUC.Value)
			sensitivity = append(sensitivity, 100*b.Sensitivity.Value)
			specificity = append(specificity, 100*b.Specificity.Value)
		}
	}
	mean := func(of []float64) *float64 {
		if len(of) == 0 {
			return nil
		}
		m, _ := Average(of)
		return &m
	}
	a.MacroF1 = mean(f1)
	if p.Train.Classes == 2 {
		a.TwoClasses = &TwoClasses{ClassName(p.Train, 1), mean(auc), mean(sensitivity), mean(specificity)}
	}
}

// shared calls do for each number below n, on all processors.
func shared(n int, do func(i int)) {
	var wg sync.WaitGroup
	workers := min(n, runtime.GOMAXPROCS(0))
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	wg.Wait()
}

// WriteClasses prints what an accuracy does not tell.
func (a *Accuracies) WriteClasses(t cli.Table) {
	if two := a.TwoClasses; two != nil && two.AUC != nil {
		t.Row("two classes", "AUC %.3f, sensitivity %.2f %%, specificity %.2f %% on average; %q is the positive one", *two.AUC,
			*two.Sensitivity, *two.Specificity, two.Positive)
	} else if a.MacroF1 != nil {
		t.Row("macro F1", "%.3f on average: the mean over classes of the harmonic mean of recall and precision", *a.MacroF1)
	}
}

// ClassName returns what a class is called in the data.
func ClassName(d *task.Data, c int) string {
	if c < len(d.ClassNames) {
		return d.ClassNames[c]
	}
	return fmt.Sprint(c)
}
