package figure

import (
	"cmp"
	"image/color"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The colors of Okabe and Ito, except their yellow, which is too light for a line on white.
var (
	black   = color.NRGBA{A: 255}
	grey    = color.NRGBA{R: 110, G: 110, B: 110, A: 255}
	orange  = color.NRGBA{R: 230, G: 159, A: 255}
	sky     = color.NRGBA{R: 86, G: 180, B: 233, A: 255}
	green   = color.NRGBA{G: 158, B: 115, A: 255}
	blue    = color.NRGBA{G: 114, B: 178, A: 255}
	red     = color.NRGBA{R: 213, G: 94, A: 255}
	purple  = color.NRGBA{R: 204, G: 121, B: 167, A: 255}
	palette = []color.NRGBA{red, blue, green, orange, purple, sky, black, grey}
)

// look is the style of a line and its points.
type look struct {
	color  color.NRGBA
	width  vg.Length
	dashes []vg.Length
	glyph  draw.GlyphDrawer
}

func (l look) line() draw.LineStyle {
	return draw.LineStyle{Color: l.color, Width: l.width, Dashes: l.dashes}
}

func (l look) band() color.Color {
	c := l.color
	c.A = 38
	return c
}

const thin, thick = vg.Length(0.9), vg.Length(1.5)

var (
	solid   []vg.Length
	dashed  = []vg.Length{4, 1.6}
	short   = []vg.Length{2, 1}
	dotted  = []vg.Length{1, 1.4}
	dashDot = []vg.Length{5, 1.4, 1, 1.4}
	long    = []vg.Length{7, 2}
	dotDot  = []vg.Length{5, 1.4, 1, 1.4, 1, 1.4}
)

// methods lists the paper's methods in the order of the paper's tables. Each method has the same look in all figures.
var methods = []struct {
	name string
	look
}{
	{"LT-ADMM-VR", look{blue, thin, dashed, draw.SquareGlyph{}}},
	{"LT-ADMM-DP", look{sky, thin, dashDot, draw.PyramidGlyph{}}},
	{"DP-SGD", look{grey, thin, dotted, draw.CrossGlyph{}}},
	{"DP-FedAvg", look{green, thin, long, draw.TriangleGlyph{}}},
	{"1P-DSG", look{orange, thin, dotDot, draw.BoxGlyph{}}},
	{"1P-DSGT", look{purple, thin, short, draw.PlusGlyph{}}},
	{"SPADE-DFL", look{red, thick, solid, draw.CircleGlyph{}}},
}

// methodRank returns the position of a method in the paper's order, which ends with SPADE-DFL, or -1 for a method that
// is not in the paper. SPADE-DFL therefore stays last when other methods are added.
func methodRank(name string) int {
	return slices.IndexFunc(methods, func(m struct {
		name string
		look
	}) bool {
		return m.name == name
	})
}

func compareMethods(a, b string) int {
	return cmp.Or(cmp.Compare(methodRank(a), methodRank(b)), cmp.Compare(a, b))
}

// methodLook returns the look of a method. place is the method's index in the figure; it determines the look of a
// method that is not in the paper.
func methodLook(name string, place int) look {
	if i := methodRank(name); i >= 0 {
		return methods[i].look
	}
	return look{palette[(len(palette) - 1 - place%len(palette))], thin, [][]vg.Length{dotted, long, dashDot}[place%3],
		draw.RingGlyph{}}
}

// partitionParts splits a name such as "dirichlet:0.3" into its kind and its number. The number is 0 if the name has
// none.
func partitionParts(name string) (kind string, number float64) {
	kind, rest, _ := strings.Cut(name, ":")
	rest, _, _ = strings.Cut(rest, ",")
	number, _ = strconv.ParseFloat(rest, 64)
	return kind, number
}

// comparePartitions orders partitions like the paper's panels: iid, Dirichlet from weak to strong skew, pathological.
func comparePartitions(a, b string) int {
	order := []string{"iid", "dirichlet", "pathological"}
	kindA, numberA := partitionParts(a)
	kindB, numberB := partitionParts(b)
	rank := func(kind string) int {
		if i := slices.Index(order, kind); i >= 0 {
			return i
		}
		return len(order)
	}
	return cmp.Or(cmp.Compare(rank(kindA), rank(kindB)), cmp.Compare(numberB, numberA), cmp.Compare(a, b))
}

func partitionTitle(name string) string {
	kind, _ := partitionParts(name)
	_, rest, _ := strings.Cut(name, ":")
	switch kind {
	case "iid":
		return "IID"
	case "dirichlet":
		return "Dirichlet α = " + strings.Replace(rest, ",", ", ", 1)
	case "pathological":
		return "Pathological"
	}
	return name
}

// partitionLook returns the look of a partition. place is the partition's index in the figure.
func partitionLook(name string, place int) look {
	switch name {
	case "iid":
		return look{black, thick, solid, draw.CircleGlyph{}}
	case "dirichlet:0.6":
		return look{blue, thin, dashed, draw.SquareGlyph{}}
	case "dirichlet:0.3":
		return look{green, thin, dashDot, draw.PyramidGlyph{}}
	case "dirichlet:0.1":
		return look{orange, thin, long, draw.TriangleGlyph{}}
	}
	if kind, _ := partitionParts(name); kind == "pathological" {
		return look{red, thin, dotDot, draw.RingGlyph{}}
	}
	return look{palette[place%len(palette)], thin, dotted, draw.BoxGlyph{}}
}

// Font sizes in points. They are legible when a figure is printed at its nominal width.
const (
	titleSize = 8.5
	labelSize = 8
	tickSize  = 7
)

func face(size vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font = face(titleSize)
	p.Title.Padding = 3
	for _, axis := range []struct {
		*plot.Axis
		label string
	}{{&p.X, x}, {&p.Y, y}} {
		axis.Label.Text = axis.label
		axis.Label.TextStyle.Font = face(labelSize)
		axis.Label.Padding = 2
		axis.Tick.Label.Font = face(tickSize)
		axis.Tick.Length = 3
		axis.Tick.Width = 0.5
		axis.Padding = 0
	}
	return p
}
