package task

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
)

// horizon returns the survival task that s describes, and its column of the event. It returns nil if s describes another
// task, or if Survival is not valid.
func (s Spec) horizon() (h *survival.Horizon, event string) {
	h, event, err := survival.Parse(s.Survival) // fails for ""
	if err != nil {
		return nil, ""
	}
	h.Intervals, h.Rate = cmp.Or(s.Intervals, survival.DefaultIntervals), cmp.Or(s.Rate, survival.DefaultRate)
	return h, event
}

// label returns the column of the class, the target or the event.
func (s Spec) label() string {
	_, event := s.horizon()
	return cmp.Or(s.Target, s.Label, event)
}

func (s Spec) checkSurvival(want func(ok bool, field, format string, args ...any)) {
	if s.Survival == "" {
		want(s.Intervals == "", "intervals", "%q, want none without survival", s.Intervals)
		want(s.Rate == 0, "rate", "%v, want none without survival", s.Rate)
		return
	}
	_, _, err := survival.Parse(s.Survival)
	want(err == nil, "survival", "%v", err)
	want(s.Label == "" && s.Target == "", "survival", "%q, want no label and no target: the event takes their place", s.Survival)
	if s.Intervals != "" {
		_, err := survival.ParseIntervals(s.Intervals)
		want(err == nil, "intervals", "%v", err)
	}
	want(s.Rate == 0 || s.Rate >= survival.LeastRate && s.Rate <= survival.MostRate, "rate", "%v, want the expected events a year, %v to %v",
		s.Rate, survival.LeastRate, float64(survival.MostRate))
	want(len(s.Labels) == 0 || len(s.Labels) == 2, "labels", "%q, want two with survival: without the event, with the event", s.Labels)
	want(s.Bias == nil || !*s.Bias, "bias", "true, want false with survival: each interval has a constant of its own")
}

// events returns the labels of the column of the event: that of samples without it, and that of samples with it.
func (s Spec) events(t *table) ([]string, error) {
	_, event := s.horizon()
	found, names := labelsOf(t), s.Labels
	if known, ok := survival.EventLabels(found); names == nil && ok {
		names = known[:]
	} else if names == nil {
		text := quoted(found)
		if len(found) > 5 {
			text = fmt.Sprintf("%d values, such as %s", len(found), quoted(found[:3]))
		}
		return nil, fieldError("survival", "%q: column %q has %s, want 0 and 1, no and yes, or their names in labels: without the event, with the "+
			"event", s.Survival, event, text)
	}
	for _, l := range found {
		if !slices.Contains(names, l) {
			return nil, fieldError("labels", "%s: column %q has %q, want only these two", strings.Join(names, ","), event, l)
		}
	}
	if !slices.Contains(found, names[1]) {
		return nil, fieldError("survival", "%q: no row of %s has the event (%q), so nothing can be learned about when it happens: check the "+
			"column, or swap the two names in labels", s.Survival, t.name, names[1])
	}
	return names, nil
}

// lives returns what the intervals show of each sample.
func (d *Data) lives() []survival.Life {
	if d.Horizon == nil {
		return nil
	}
	cuts := d.Horizon.Cuts()
	lives := make([]survival.Life, d.Len())
	for i, days := range d.Time {
		lives[i] = cuts.Life(days, d.Y[i])
	}
	return lives
}

// outputs returns the number of classes or, for a survival task, of intervals.
func (d *Data) outputs() int {
	if d.Horizon != nil {
		return d.Horizon.Cuts().Len()
	}
	return d.Classes
}
