package lab

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// plot is a picture of curves over 1, 2, 3 and so on.
type plot struct {
	title, x, y string
	curves      []curve
	band        bool // the curves are means, with their standard deviations
	line        float64
	lineName    string // of a straight line for comparison
}

// curve has a value for each round, from the first.
type curve struct {
	name     string
	mean, sd []float64
}

// plotStyle has colors for eight curves, each with enough contrast to its background, light or dark.
const plotStyle = `
svg{--paper:#fff;--ink:#1b2733;--grid:#d9dfe5;--c0:#0b66c3;--c1:#b8470a;--c2:#1a7f37;--c3:#8250df;--c4:#8a6100;--c5:#0e7a7a;` +
	`--c6:#b3265a;--c7:#57606a}
@media (prefers-color-scheme:dark){svg{--paper:#12181f;--ink:#e6edf3;--grid:#303b46;--c0:#6cb6ff;--c1:#f69d50;--c2:#57ab5a;` +
	`--c3:#b083f0;--c4:#daaa3f;--c5:#39c5cf;--c6:#fc8dc7;--c7:#adbac7}}
text{font:13px system-ui,sans-serif;fill:var(--ink)}
.paper{fill:var(--paper)}.grid{stroke:var(--grid)}.line{stroke:var(--ink);stroke-dasharray:2 4}
.curve{fill:none;stroke-width:2;stroke-linejoin:round}.band{opacity:.18;stroke:none}
`

// svg draws the plot. It is as wide as the page that it stands on, and follows its theme.
func (p *plot) svg() []byte {
	const left, top, width, height, right = 64, 48, 520, 300, 176
	n, low, high := 1, p.line, p.line
	for _, c := range p.curves {
		n = max(n, len(c.mean))
		for k, v := range c.mean {
			low, high = min(low, v-c.sd[k]), max(high, v+c.sd[k])
		}
	}
	ticks := TicksOf(low, high)
	if !(high > low) {
		high = low + 1
	}
	x := func(k int) float64 { return left + width*float64(k)/float64(max(1, n-1)) } // k counts from 0
	y := func(v float64) float64 { return top + height*(high-v)/(high-low) }
	var b bytes.Buffer
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	text := func(x, y float64, anchor, s string) {
		put(`<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, escaped(s))
	}
	put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">`, left+width+right, top+height+56)
	put(`<title>%s</title><style>%s</style><rect class="paper" width="100%%" height="100%%"/>`, escaped(p.title),
		plotStyle)
	title := p.title
	if p.band {
		title += ": mean of the seeds, and one standard deviation around it"
	}
	text(left, 24, "start", title)
	for _, t := range ticks {
		put(`<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1[3]f"/>`, left, left+width, y(t))
		text(left-8, y(t)+4, "end", strconv.FormatFloat(t, 'g', 6, 64))
	}
	for _, t := range TicksOf(1, float64(n)) {
		if k := int(t); float64(k) == t && k >= 1 && k <= n {
			text(x(k-1), top+height+20, "middle", strconv.Itoa(k))
		}
	}
	text(left+width/2, top+height+44, "middle", p.x)
	put(`<text transform="translate(16 %d) rotate(-90)" text-anchor="middle">%s</text>`, top+height/2, escaped(p.y))
	legend := func(i int, style, class, name string) {
		at := float64(top + 8 + 22*i)
		put(`<line class="%s" style="%s" x1="%d" x2="%d" y1="%.1f" y2="%.1[5]f"/>`, class, style, left+width+16, left+width+40, at)
		text(left+width+48, at+4, "start", name)
	}
	if p.lineName != "" {
		put(`<line class="line" x1="%d" x2="%d" y1="%.1f" y2="%.1[3]f"/>`, left, left+width, y(p.line))
		legend(len(p.curves), "", "line", p.lineName)
	}
	for i, c := range p.curves {
		color := fmt.Sprintf("var(--c%d)", i%8)
		var band, path bytes.Buffer
		for k, v := range c.mean {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(k, 1)], x(k), y(v))
			fmt.Fprintf(&band, "%c%.1f %.1f", "ML"[min(k, 1)], x(k), y(v+c.sd[k]))
		}
		for k := len(c.mean) - 1; k >= 0; k-- {
			fmt.Fprintf(&band, "L%.1f %.1f", x(k), y(c.mean[k]-c.sd[k]))
		}
		if p.band {
			put(`<path class="band" style="fill:%s" d="%sZ"/>`, color, band.Bytes())
		}
		put(`<path class="curve" style="stroke:%s" d="%s"/>`, color, path.Bytes())
		legend(i, "stroke:"+color, "curve", c.name)
	}
	put(`</svg>`)
	return b.Bytes()
}

// escaped is text as it stands in XML. Package html would add its table of names to programs that draw nothing, too.
func escaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// TicksOf returns at least one and about six round numbers between two bounds.
func TicksOf(low, high float64) (ticks []float64) {
	if !(high > low) {
		return []float64{low}
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/5)))
	for _, f := range []float64{2, 2.5, 2} { // 1, 2, 5, 10
		if (high-low)/step > 7 {
			step *= f
		}
	}
	for k := math.Ceil(low/step - 1e-9); k*step <= high+step*1e-9; k++ {
		ticks = append(ticks, k*step)
	}
	return ticks
}
