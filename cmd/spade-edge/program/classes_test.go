package program

import (
	"strings"
	"testing"
)

// Beside an accuracy stand what it does not tell, and that of always saying the most frequent class.
func TestWorthBesideAccuracy(t *testing.T) {
	r := outcome(t, with(small, "-non-private")...)
	two := r.TwoClasses
	if two == nil || two.Positive != "yes" || !(*two.AUC > 0.8 && *two.AUC <= 1) || !(*two.Sensitivity > 0 && *two.Sensitivity <= 100) ||
		!(*two.Specificity > 0 && *two.Specificity <= 100) || !(*r.MacroF1 > 0 && *r.MacroF1 <= 1) {
		t.Errorf("two classes %+v, macro F1 %v", two, r.MacroF1)
	}
	// Between the recalls of both classes lies the accuracy.
	if low, high := min(*two.Sensitivity, *two.Specificity), max(*two.Sensitivity, *two.Specificity); r.AccuracyMean < low || r.AccuracyMean > high {
		t.Errorf("accuracy %v is not between %v and %v", r.AccuracyMean, low, high)
	}
	_, out, _ := call(with(small, "-non-private")...)
	for _, want := range []string{"by always saying the most frequent class", "AUC ", `"yes" is the positive one`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
