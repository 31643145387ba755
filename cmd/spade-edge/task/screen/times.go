package screen

import (
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
)

const (
	otherUnit = 4    // minimum factor between usual times and those of another unit of time
	nearlyAll = 0.95 // share of times outside the finite intervals from which they are reported
)

// times describes the times of a survival task, in the unit of the file, and checks them and the events.
func (p *Report) times(r *task.Recipe, d *task.Data, own bool) {
	h := r.Survival
	if h == nil || d.Len() == 0 {
		return
	}
	events, beyond, short := 0, 0, 0
	cuts := h.Cuts()
	last := cuts.Ends[len(cuts.Ends)-1]
	c := Column{Name: h.Time}
	for i, days := range d.Time {
		events += d.Y[i]
		c.values = append(c.values, days/h.Day())
		if days > last {
			beyond++
		}
		if days <= cuts.Ends[0] {
			short++
		}
	}
	c.describe()
	p.sentinels(&c, true)
	c.each = slices.Compact(slices.Clone(c.values))
	p.time = len(p.Columns)
	if p.Columns = append(p.Columns, c); !own {
		p.Columns[p.time].Mean = h.Usual / h.Day()
		p.unit(&p.Columns[p.time], h.Usual/h.Day())
	}
	switch n := d.Len(); {
	case events == 0:
		p.add(NoEvent, r.Label, n, d.ClassNames[0], "none of %d rows has the event (%.40q): all are censored", n, d.ClassNames[1])
	case n < fewest:
	case events == n:
		p.add(AllEvents, r.Label, n, d.ClassNames[1], "all of %d rows have the event (%.40q): none was observed without it", n, d.ClassNames[1])
	case float64(beyond) > nearlyAll*float64(n):
		p.add(Beyond, h.Time, beyond, exact(c.High), "%d of %d times are beyond %s, where the last interval begins that has no end", beyond, n,
			cuts.Text(last))
	case float64(short) > nearlyAll*float64(n):
		p.add(Beyond, h.Time, short, exact(c.Low), "%d of %d times are within the first interval, which ends after %s", short, n,
			cuts.Text(cuts.Ends[0]))
	case own && len(cuts.Ends) > 1 && float64(c.High*h.Day()) <= cuts.Ends[len(cuts.Ends)-2]:
		p.add(Beyond, h.Time, n, exact(c.High), "no row was observed beyond %s, so these rows say nothing about survival beyond %s",
			cuts.Text(cuts.Ends[len(cuts.Ends)-2]), cuts.Text(last))
	}
}

// unit checks whether times are in another unit than usual times. Times are spread so widely that only their size counts.
func (p *Report) unit(c *Column, usual float64) {
	if len(c.values) < fewest || usual == 0 || c.Median == 0 {
		return
	}
	factor, by := usual/c.Median, "smaller"
	if factor < 1 {
		factor, by = 1/factor, "larger"
	}
	if factor > otherUnit {
		p.add(Unit, c.Name, len(c.values), exact(c.Median), "its times are about %.4g, expected about %.4g: about %.2g times %s, so the unit may differ",
			c.Median, usual, factor, by)
	}
}
