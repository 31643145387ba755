package task

import (
	"errors"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
)

// Validate reports every error that can be found without opening a file.
func (s Spec) Validate() error {
	missing, _ := s.missing()
	faults := []error{CheckSource(s.Source), checkFraction(s.TestFraction), checkRule(missing)}
	want := func(ok bool, field, format string, args ...any) {
		if !ok {
			faults = append(faults, fieldError(field, format, args...))
		}
	}
	isCSV := s.kind() == "csv"
	other := !isCSV && faults[0] == nil
	want(!isCSV || s.label() != "" || s.Survival != "", "label",
		"is missing, want the name of the column that holds the class in %s", s.Source)
	want(s.Label == "" || s.Target == "", "target", "%q and label %q, want only one: target for a number, label for a class", s.Target,
		s.Label)
	s.checkSurvival(want)
	want(s.Target == "" || len(s.Labels) == 0, "labels", "%q, want none: target %q is a number", s.Labels, s.Target)
	const onlyCSV = "%q: only for data csv:FILE, not for %q"
	want(!other || s.Missing == "", "missing", onlyCSV, s.Missing, s.Source)
	want(!other || len(s.NA) == 0, "na", onlyCSV, s.NA, s.Source)
	used := map[string]string{}
	for _, named := range s.namedColumns() {
		field, name := named[0], named[1]
		want(!other, field, onlyCSV, name, s.Source)
		first, again := used[name]
		want(!again || !isCSV, field, "%q: that column is already in %s", name, first)
		used[name] = field
	}
	want(len(s.Labels) != 1, "labels", "%q, want at least two, or none to use all labels", s.Labels)
	for i, l := range s.Labels {
		want(!slices.Contains(s.Labels[:i], l), "labels", "%s: %q is listed twice", strings.Join(s.Labels, ","), l)
	}
	want(!s.Records || missing != dropRows, "missing", "%q, want indicator, mean or median: "+noDrop, s.Missing)
	s.checkScale(want)
	want(s.PCA >= 0, "pca", "%d, want a number of components, or 0 for none", s.PCA)
	return errors.Join(faults...)
}

// mostNumbers is the maximum number of classes whose labels are numbers, unless Spec.Labels lists the classes.
const mostNumbers = 20

// checkClasses refuses classes that look like measurements, dates or notes, unless Spec.Labels lists the classes.
func (s Spec) checkClasses(names []string, rows int) error {
	numbers, dates, days := 0, 0, 0 // 1:20 may be a time or a ratio, but is no day
	for _, v := range names {
		if _, fault := cell.Number(v); fault == "" {
			numbers++
		} else if fault == cell.NoTime {
			dates++
			if !strings.Contains(v, ":") {
				days++
			}
		}
	}
	const listed = ", or list the classes in labels"
	switch {
	case s.Label == "" || len(s.Labels) > 0:
	case dates > mostNumbers || days == len(names):
		return fieldError("label", "%q has %d values that are dates or times, want classes: write one for each row"+listed, s.Label, dates)
	case numbers > mostNumbers:
		return fieldError("label", "%q has %d values that are numbers, too many for classes: "+asTarget+listed, s.Label, numbers)
	case len(names) > mostNumbers && 2*len(names) > rows:
		return fieldError("label", "%q has %d values in %d rows, too many for classes: name the column that has the classes"+listed, s.Label, len(names), rows)
	}
	return nil
}

const asTarget = "give target instead of label to predict the number"

// namedColumns returns the columns of a CSV file that s names: for each the field of s and the column.
func (s Spec) namedColumns() (all [][2]string) {
	named := [][2]string{{"label", s.Label}, {"target", s.Target}, {"person", s.Person}}
	if h, event := s.horizon(); h != nil {
		named = append(named, [2]string{"survival", h.Time}, [2]string{"survival", event})
	}
	for _, one := range named {
		if one[1] != "" {
			all = append(all, one)
		}
	}
	for _, name := range s.Drop {
		all = append(all, [2]string{"drop", name})
	}
	for _, name := range s.OneHot {
		all = append(all, [2]string{"onehot", name})
	}
	return all
}

// CheckSource validates the form of a [Spec].Source without opening a file.
func CheckSource(source string) error {
	kind, arg, _ := strings.Cut(source, ":")
	if kind != "idx" && kind != "csv" && source != "synthetic:clinical" || arg == "" {
		return fieldError("data", "%q, want idx:DIR, csv:FILE or synthetic:clinical", source)
	}
	return nil
}

func checkFraction(f float64) error {
	if !(f >= 0 && f < 1) {
		return fieldError("test_fraction", "%v, want more than 0 and less than 1", f)
	}
	return nil
}
