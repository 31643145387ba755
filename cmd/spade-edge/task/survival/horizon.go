package survival

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

const (
	// DefaultIntervals and DefaultRate are public guesses for a task that names none.
	DefaultIntervals = "1y,2y,3y,5y,10y"
	DefaultRate      = 0.05

	MaxEnds = 31 // the maximum number of ends; one more interval is open

	LeastRate, MostRate = 1e-6, 100 // the range of a rate

	mostDays = 1e6
)

// units has the days in each unit of time.
var units = map[byte]float64{'d': 1, 'w': 7, 'm': 365.25 / 12, 'y': 365.25}

// Horizon is the public description of a survival task.
type Horizon struct {
	Time      string  `json:"time"`      // the column with the time to the event, or to the end of observation
	Unit      string  `json:"unit"`      // the unit of that column: d, w, m or y, for days, weeks, months or years
	Intervals string  `json:"intervals"` // see [ParseIntervals]
	Rate      float64 `json:"rate"`      // the expected number of events a year, for the start of a run

	// Usual is the mean of the times, in days, in the data on which the task was fitted. It serves to find files with
	// another unit; 0 if unknown.
	Usual float64 `json:"usual_days,omitempty"`
}

// Parse parses "TIME,EVENT", the columns of a survival task. TIME may end in a colon and the unit of the times: d, w, m
// or y. Without it the unit is a day. horizon has no intervals yet.
func Parse(text string) (horizon *Horizon, event string, err error) {
	at := strings.LastIndex(text, ",")
	if at < 0 {
		return nil, "", fmt.Errorf("%q, want TIME,EVENT: the column of the time, and that of whether the event happened", text)
	}
	h := &Horizon{Time: strings.TrimSpace(text[:at]), Unit: "d"}
	if n := len(h.Time) - 2; n > 0 && h.Time[n] == ':' && units[h.Time[n+1]] > 0 {
		h.Time, h.Unit = strings.TrimSpace(h.Time[:n]), h.Time[n+1:]
	}
	event = strings.TrimSpace(text[at+1:])
	if h.Time == "" || event == "" || h.Time == event {
		return nil, "", fmt.Errorf("%q, want two columns, TIME,EVENT", text)
	}
	return h, event, nil
}

// Validate returns all errors of the horizon. It names fields as in the task file.
func (h *Horizon) Validate() error {
	var faults []error
	if h.Time == "" || h.Time != strings.TrimSpace(h.Time) {
		faults = append(faults, fmt.Errorf("survival.time is %q, want the name of a column", h.Time))
	}
	if len(h.Unit) != 1 || units[h.Unit[0]] == 0 {
		faults = append(faults, fmt.Errorf("survival.unit is %q, want d, w, m or y", h.Unit))
	}
	if _, err := ParseIntervals(h.Intervals); err != nil {
		faults = append(faults, fmt.Errorf("survival.intervals is %w", err))
	}
	if !(h.Rate >= LeastRate && h.Rate <= MostRate) {
		faults = append(faults, fmt.Errorf("survival.rate is %v, want the expected events a year, %v to %v", h.Rate, LeastRate, MostRate))
	}
	if !(h.Usual >= 0 && h.Usual <= math.MaxFloat32) {
		faults = append(faults, fmt.Errorf("survival.usual_days is %v, want a number of days", h.Usual))
	}
	return errors.Join(faults...)
}

// Day returns the number of days in the unit of the column Time.
func (h *Horizon) Day() float64 { return units[h.Unit[0]] }

// Cuts returns the ends of the intervals of a valid horizon.
func (h *Horizon) Cuts() Intervals {
	cuts, _ := ParseIntervals(h.Intervals)
	return cuts
}

// Start returns the start value of each interval's b, at which every sample has the event with the rate h.Rate.
func (h *Horizon) Start() []float32 {
	cuts := h.Cuts()
	b := make([]float32, cuts.Len())
	for j := range b {
		survive := vec.Exp(-float64(h.Rate*cuts.length(j)) / units['y'])
		b[j] = float32(vec.Log(max(1-survive, least) / max(survive, least)))
	}
	return b
}

// Intervals cuts time into intervals, each without its start and with its end. The last one is open.
type Intervals struct {
	Ends []float64 // of all intervals but the open one, in days, increasing
	unit byte      // of Text
}

// ParseIntervals parses the ends of intervals, such as "1y,2y,3y,5y" or "90d,6m,1y", in d, w, m or y. A single end is a
// horizon: "5y" stands for the first, second, third and fifth fifth of it, which is 1y,2y,3y,5y.
func ParseIntervals(text string) (Intervals, error) {
	var cuts Intervals
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		last := max(0, len(part)-1)
		number, err := strconv.ParseFloat(part[:last], 64)
		if err != nil || units[part[last]] == 0 || !(number > 0) || number*units[part[last]] > mostDays {
			return Intervals{}, fmt.Errorf("%q: %q, want a number above 0 and a unit, d, w, m or y, such as 2y", text, part)
		}
		cuts.Ends, cuts.unit = append(cuts.Ends, number*units[part[last]]), part[last]
	}
	if len(cuts.Ends) == 1 {
		all := cuts.Ends[0]
		cuts.Ends = []float64{all / 5, 2 * all / 5, 3 * all / 5, all}
	}
	for j, end := range cuts.Ends[1:] {
		if !(end > cuts.Ends[j]) {
			return Intervals{}, fmt.Errorf("%q, want increasing times", text)
		}
	}
	if len(cuts.Ends) > MaxEnds {
		return Intervals{}, fmt.Errorf("%q has %d times, want at most %d", text, len(cuts.Ends), MaxEnds)
	}
	return cuts, nil
}

// Len returns the number of intervals, with the open one.
func (c Intervals) Len() int { return len(c.Ends) + 1 }

// Text returns a time in days as text, in the unit of the last end.
func (c Intervals) Text(days float64) string {
	return strconv.FormatFloat(days/units[c.unit], 'g', 4, 64) + string(c.unit)
}

// length returns the length of an interval in days; that of the open one is that of the one before.
func (c Intervals) length(j int) float64 {
	if j = min(j, len(c.Ends)-1); j > 0 {
		return c.Ends[j] - c.Ends[j-1]
	}
	return c.Ends[0]
}

// Life is what the intervals show of a sample.
type Life struct {
	Survived uint8 // number of intervals that the sample survived, from the first
	Event    uint8 // 1 if the event happened in the interval after these, else 0
}

// Life returns the life of a sample that was observed for a time, in days, until the event (1) or without it (0). A
// sample survives an interval in which its observation ends without the event if it was observed for half of it.
func (c Intervals) Life(days float64, event int) Life {
	at, _ := slices.BinarySearch(c.Ends, days)
	l := Life{Survived: uint8(at), Event: uint8(event)}
	start := 0.0
	if at > 0 {
		start = c.Ends[at-1]
	}
	if event == 0 && days-start >= c.length(at)/2 {
		l.Survived++
	}
	return l
}
