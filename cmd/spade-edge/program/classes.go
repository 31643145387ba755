package program

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk/task"
)

// twoClasses is what models are worth on test data of two classes, over clients, each with the model that it holds at
// the end, and its JSON. Shares are in percent.
type twoClasses struct {
	Positive    string   `json:"positive_class"` // the second one
	AUC         *float64 `json:"auc_mean"`
	Sensitivity *float64 `json:"sensitivity_mean"`
	Specificity *float64 `json:"specificity_mean"`
}

// judge says what each model is worth on the test data; nil of one with a parameter that is NaN.
func (p *problem) judge(models [][]float32) []*task.ClassMetrics {
	judged := make([]*task.ClassMetrics, len(models))
	shared(len(models), func(i int) { judged[i], _ = p.test.Judge(models[i]) })
	return judged
}

// tell fills in what an accuracy does not tell. What is known of no model stays nil.
func (a *Accuracies) tell(p *problem, judged []*task.ClassMetrics) {
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
		m, _ := average(of)
		return &m
	}
	a.MacroF1 = mean(f1)
	if p.train.Classes == 2 {
		a.TwoClasses = &twoClasses{className(p.train, 1), mean(auc), mean(sensitivity), mean(specificity)}
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

// writeClasses prints what an accuracy does not tell.
func (a *Accuracies) writeClasses(t table) {
	if two := a.TwoClasses; two != nil && two.AUC != nil {
		t.row("two classes", "AUC %.3f, sensitivity %.2f %%, specificity %.2f %% on average; %q is the positive one", *two.AUC,
			*two.Sensitivity, *two.Specificity, two.Positive)
	} else if a.MacroF1 != nil {
		t.row("macro F1", "%.3f on average: the mean over classes of the harmonic mean of recall and precision", *a.MacroF1)
	}
}

// className returns what a class is called in the data.
func className(d *task.Data, c int) string {
	if c < len(d.ClassNames) {
		return d.ClassNames[c]
	}
	return fmt.Sprint(c)
}
