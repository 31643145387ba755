package task

import (
	"math"
	"strings"
	"testing"
)

// TestJudge checks that, for each kind of model, the result of Judge agrees with Accuracy and with the losses.
func TestJudge(t *testing.T) {
	for _, spec := range []ModelSpec{{SoftmaxModel, 0}, {PerceptronModel, 4}} {
		for classes := 2; classes <= 4; classes++ {
			d := random(60, 5, classes, 8)
			m := spec.New(d)
			x := parameters(m.Dim(), 1, 4)
			scores, err := m.Judge(x)
			if err != nil {
				t.Fatal(err)
			}
			got := scores.Classes
			near(t, "accuracy", got.Accuracy.Value, m.Accuracy(x))
			near(t, "majority", got.Majority, m.Majority())
			if (got.Binary != nil) != (classes == 2) {
				t.Errorf("%d classes: %+v", classes, got.Binary)
			}
			if got.Binary != nil { // with two classes the loss is the squared error of the probability
				near(t, "Brier", got.Binary.Brier.Value, m.MeanLoss(x))
			}
			x[0] = float32(math.NaN())
			if got, err := m.Judge(x); err == nil || !strings.Contains(err.Error(), "sample 1 has numbers too large") {
				t.Errorf("%d classes, with a NaN: %+v, %v", classes, got, err)
			}
			if _, err := m.Judge(x[1:]); err == nil {
				t.Error("a parameter is missing, and no error")
			}
		}
	}
	if share := (ModelSpec{}).New(nil).Majority(); share != 0 {
		t.Errorf("the majority of nothing is %v", share)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
