package figure

import (
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

func grid() *plotter.Grid {
	g := plotter.NewGrid()
	style := draw.LineStyle{Color: color.NRGBA{R: 228, G: 228, B: 228, A: 255}, Width: 0.4}
	g.Vertical, g.Horizontal = style, style
	return g
}

// steps is a ticker that places marks at multiples of 1, 2 or 5 times a power of ten. The field about is the
// approximate number of marks.
type steps struct{ about int }

func (s steps) Ticks(low, high float64) []plot.Tick {
	raw := (high - low) / float64(s.about)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * power
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw*0.999 {
			step = m * power
			break
		}
	}
	digits := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
		v := float64(i*step) + 0 // + 0 turns -0 into 0
		ticks = append(ticks, plot.Tick{Value: v,
			Label: strings.Replace(strconv.FormatFloat(v, 'f', digits, 64), "-", "−", 1)})
	}
	return ticks
}

// unlabeled has the marks of another ticker without their labels, for panels next to a panel that already has the
// labels.
type unlabeled struct{ plot.Ticker }

func (u unlabeled) Ticks(low, high float64) []plot.Tick {
	ticks := u.Ticker.Ticks(low, high)
	for i := range ticks {
		// A blank label draws nothing, but keeps this a major mark with a grid line.
		if ticks[i].Label != "" {
			ticks[i].Label = " "
		}
	}
	return ticks
}

// decades is a ticker for an axis of base-10 logarithms. It labels the powers of ten, and places unlabeled marks at 2
// to 9 times each power. (gonum's own logarithmic axis misplaces the box of a label, and with it the edge of the
// panel.)
type decades struct{}

func (decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := int(math.Floor(low)); e <= int(math.Ceil(high)); e++ {
		for m := 1; m < 10; m++ {
			v := float64(e) + math.Log10(float64(m))
			if v < low-1e-9 || v > high+1e-9 {
				continue
			}
			t := plot.Tick{Value: v}
			switch {
			case m == 1 && e > 2:
				t.Label = "10" + superscript(e)
			case m == 1: // spelled out, because no font here has a superscript minus
				t.Label = strconv.FormatFloat(math.Pow10(e), 'f', max(0, -e), 64)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

func superscript(n int) string {
	return strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸",
		"9", "⁹").
		Replace(strconv.Itoa(n))
}
