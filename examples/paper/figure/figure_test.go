package figure

import (
	"bytes"
	"encoding/xml"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"github.com/spade-dfl/spade-edge/examples/paper/stat"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// made returns noisy curves of methods whose accuracies grow apart from round to round.
func made(partitions, names []string, seeds, rounds int) []Curve {
	s := rng.New(1, rng.Address{Purpose: rng.Generate})
	var out []Curve
	for i, p := range partitions {
		for j, m := range names {
			for seed := 1; seed <= seeds; seed++ {
				for round := range rounds + 1 {
					a := 0.5 + 0.04*float64(j+1)*float64(round)/float64(rounds) - 0.01*float64(i) + 0.01*s.Normal()
					out = append(out, Curve{"MNIST", p, m, seed, round, a})
				}
			}
		}
	}
	return out
}

var four = []string{"iid", "dirichlet:0.6", "dirichlet:0.3", "pathological:2"}

func paperMethods() (names []string) {
	for _, m := range methods {
		names = append(names, m.name)
	}
	return names
}

func madeCosts() []Cost {
	var out []Cost
	for i, series := range []string{"τ = 1", "τ = T^(1/3)"} {
		for _, steps := range []int{1000, 3375, 10648, 29791} {
			for seed := range 3 {
				v := float64(1+seed) / float64(steps)
				out = append(out, Cost{series, steps, int64(800 * steps / (1 + 9*i)), seed, v, 0.3 * v, 0.02})
			}
		}
	}
	return out
}

func madeShares() []Share {
	var out []Share
	for _, p := range append(four, "dirichlet:0.1") {
		for c := range 20 {
			out = append(out, Share{p, c, float64(c) / 20})
		}
	}
	return out
}

// drawings lists every figure with the texts that it must contain.
var drawings = []struct {
	name  string
	draw  func(path string) error
	texts []string
	width float64
}{
	{"accuracy", func(path string) error { return Accuracy(made(four, paperMethods(), 4, 10), path) },
		append([]string{"IID", "Dirichlet α = 0.6", "Dirichlet α = 0.3", "Pathological", "Round", "Test accuracy (%)"},
			paperMethods()...), 7.16},
	{"partitions", func(path string) error {
		return Partitions(made(append([]string{"dirichlet:0.1"}, four...), []string{"Model held", "Average"}, 4, 10), 5, path)
	}, []string{"IID", "Dirichlet α = 0.1", "Model held", "Average", "Difference to IID (points)"}, 7.16},
	{"shares", func(path string) error { return Shares(madeShares(), "digit 7", path) },
		[]string{"Share of digit 7 (%)", "Dirichlet α = 0.1"}, 3.5},
	{"volcano", func(path string) error {
		c, err := Compare(made(four, paperMethods(), 8, 10), "LT-ADMM-VR")
		if err != nil {
			return err
		}
		return Volcano(c, "LT-ADMM-VR", path)
	}, []string{"Accuracy less that of LT-ADMM-VR (points)", "−log10 of adjusted p", "SPADE-DFL", "1P-DSGT"}, 3.5},
	{"tradeoff", func(path string) error { return Tradeoff(madeCosts(), path) },
		[]string{"τ = 1", "τ = T^(1/3)", "Local steps T", "Numbers sent, 2|E|dK", "10³", "0.01"}, 7.16},
}

// TestFigures checks that every figure is either a well-formed SVG file that contains its texts or a PNG file of the
// right width. Drawing a figure again must give the same bytes, and any other file extension must be an error.
func TestFigures(t *testing.T) {
	for _, d := range drawings {
		t.Run(d.name, func(t *testing.T) {
			dir := t.TempDir()
			base := filepath.Join(dir, "deep", d.name)
			for _, ext := range []string{".svg", ".png"} {
				if err := d.draw(base + ext); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.draw(base); err == nil {
				t.Error("a path without an ending is accepted")
			}
			svg, raster := readFile(t, base+".svg"), readFile(t, base+".png")
			texts := textsOf(t, svg)
			if n := bytes.Count(svg, []byte("font-family")); n != 1 {
				t.Errorf("the font is named %d times, want once", n)
			}
			for _, want := range d.texts {
				if !slices.Contains(texts, want) {
					t.Errorf("%q is not in the figure: %q", want, texts)
				}
			}
			img, err := png.Decode(bytes.NewReader(raster))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := img.Bounds().Dx(), d.width*dpi; math.Abs(float64(got)-want) > 1 {
				t.Errorf("%d dots wide, want %v", got, want)
			}
			if n := ink(img.At, img.Bounds().Dx(), img.Bounds().Dy()); n < 2000 {
				t.Errorf("only %d dots are not white", n)
			}
			for file, first := range map[string][]byte{"again.svg": svg, "again.png": raster} {
				path := filepath.Join(dir, file)
				if err := d.draw(path); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(readFile(t, path), first) {
					t.Errorf("%s drawn again has other bytes", file)
				}
			}
			if entries, _ := os.ReadDir(dir); len(entries) != 3 {
				t.Errorf("%d entries in the folder, want the two files and a folder", len(entries))
			}
		})
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// textsOf parses an SVG file and returns the contents of its text elements.
func textsOf(t *testing.T, svg []byte) (texts []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	inside := false
	for {
		token, err := d.Token()
		if err == io.EOF {
			return texts
		}
		if err != nil {
			t.Fatalf("not well formed: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			inside = e.Name.Local == "text"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				texts = append(texts, string(e))
			}
		}
	}
}

func ink(at func(x, y int) color.Color, width, height int) (n int) {
	for y := range height {
		for x := range width {
			if r, g, b, _ := at(x, y).RGBA(); r&g&b < 0xffff {
				n++
			}
		}
	}
	return n
}

// TestOrderOfInput checks that the order of the input does not affect any figure.
func TestOrderOfInput(t *testing.T) {
	dir := t.TempDir()
	curves := made(four, paperMethods(), 3, 5)
	if err := Accuracy(curves, filepath.Join(dir, "a.svg")); err != nil {
		t.Fatal(err)
	}
	s := rng.New(2, rng.Address{Purpose: rng.Generate})
	s.Shuffle(len(curves), func(i, j int) { curves[i], curves[j] = curves[j], curves[i] })
	if err := Accuracy(curves, filepath.Join(dir, "b.svg")); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(readFile(t, filepath.Join(dir, "a.svg")), readFile(t, filepath.Join(dir, "b.svg"))) {
		t.Error("another order of the curves is another figure")
	}
}

// TestBands checks the mean and the band of a line against a manual calculation. Accuracies 60, 70 and 80 have the mean
// 70, the population standard deviation sqrt(200/3), the sample standard deviation 10, and a Student interval of
// 4.303*10/sqrt(3) on either side.
func TestBands(t *testing.T) {
	var curves []Curve
	for i, a := range []float64{0.6, 0.7, 0.8} {
		curves = append(curves, Curve{"d", "iid", "m", i, 1, a}, Curve{"d", "dirichlet:0.1", "m", i, 1, a - 0.01*float64(i)})
	}
	g, err := newGroup(curves)
	if err != nil {
		t.Fatal(err)
	}
	line := g.spread("iid", "m")
	if sd := math.Sqrt(200.0 / 3); len(line) != 1 || !near(line[0].y, 70) || !near(line[0].low, 70-sd) ||
		!near(line[0].high, 70+sd) {
		t.Errorf("band %+v", line)
	}
	line, difference, err := g.intervals("dirichlet:0.1", "m")
	if err != nil {
		t.Fatal(err)
	}
	if half := 4.3026527297494637 * 1 / math.Sqrt(3); !near(difference[0].y, -1) || !near(difference[0].low, -1-half) ||
		!near(difference[0].high, -1+half) {
		t.Errorf("differences 0, -1, -2 have interval %+v", difference)
	}
	if half := 4.3026527297494637 * 9 / math.Sqrt(3); !near(line[0].y, 69) || !near(line[0].high-69, half) {
		t.Errorf("interval %+v", line)
	}
	if _, difference, _ = g.intervals("iid", "m"); difference != nil {
		t.Error("iid differs from itself")
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// TestCompare checks the comparisons of the paper's volcano plot: 6 methods, 4 partitions and 50 rounds make 1,200
// comparisons. Each comparison has the p value of the signed-rank test, and all p values are adjusted together. Round
// 0, the initial model, is not compared.
func TestCompare(t *testing.T) {
	curves := made(four, paperMethods(), 5, 50)
	all, err := Compare(curves, "LT-ADMM-VR")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1200 {
		t.Fatalf("%d comparisons, want 1200", len(all))
	}
	g, _ := newGroup(curves)
	var p []float64
	for _, c := range all {
		x, y := g.paired(key{c.Partition, c.Method, c.Round}, key{c.Partition, "LT-ADMM-VR", c.Round})
		want, err := stat.Wilcoxon(x, y, stat.PrattZeros)
		if err != nil {
			t.Fatal(err)
		}
		if c.Seeds != 5 || c.P != want.P || !near(c.Difference, stat.Mean(x)-stat.Mean(y)) || c.Round == 0 ||
			c.Method == "LT-ADMM-VR" {
			t.Fatalf("%+v, want p = %v", c, want.P)
		}
		p = append(p, c.P)
	}
	adjusted, _ := stat.Adjust(p)
	for i, c := range all {
		if c.Adjusted != adjusted[i] {
			t.Fatalf("%+v, want adjusted %v", c, adjusted[i])
		}
	}
	// Curves with the same seed form a pair. A seed that occurs for only one of the two methods is ignored.
	few, err := Compare([]Curve{{"d", "iid", "m", 1, 1, 0.5}, {"d", "iid", "ref", 1, 1, 0.4}, {"d", "iid", "m", 2, 1, 0.9},
		{"d", "iid", "ref", 3, 1, 0.1}}, "ref")
	if err != nil || len(few) != 1 || few[0].Seeds != 1 || !near(few[0].Difference, 10) {
		t.Errorf("%+v, %v", few, err)
	}
	if _, err := Compare(curves, "nobody"); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a reference that is not there: %v", err)
	}
}

func TestFiguresRefuse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for name, err := range map[string]error{
		"no curves":            Accuracy(nil, path),
		"no partitions":        Partitions(nil, 0, path),
		"one seed":             Partitions(made(four, []string{"m"}, 1, 2), 0, path),
		"no shares":            Shares(nil, "a", path),
		"a share of 2":         Shares([]Share{{"iid", 0, 2}}, "a", path),
		"no comparisons":       Volcano(nil, "a", path),
		"an adjusted p of 0":   Volcano([]Comparison{{}}, "a", path),
		"no costs":             Tradeoff(nil, path),
		"a cost without size":  Tradeoff([]Cost{{Series: "a"}}, path),
		"a folder that is not": Accuracy(made(four, []string{"m"}, 1, 2), filepath.Join(os.DevNull, "x.svg")),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) > 0 {
		t.Error("a figure that is refused leaves a file")
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		ticker    plot.Ticker
		low, high float64
		want      string
	}{
		{steps{5}, 0, 50, "0 10 20 30 40 50"},
		{steps{5}, 48.3, 96.4, "50 60 70 80 90"},
		{steps{5}, -0.9, 0.9, "−0.5 0.0 0.5"},
		{steps{4}, 98.3, 99.05, "98.4 98.6 98.8 99.0"},
		{decades{}, -2.2, -0.8, "0.01 0.1"},
		{decades{}, 0, 2, "1 10 100"},
		{decades{}, 2.9, 4.5, "10³ 10⁴"},
	} {
		var labels []string
		for _, tick := range c.ticker.Ticks(c.low, c.high) {
			if tick.Value < c.low-1e-6 || tick.Value > c.high+1e-6 {
				t.Errorf("%v from %v to %v: a tick at %v", c.ticker, c.low, c.high, tick.Value)
			}
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%v from %v to %v: %q, want %q", c.ticker, c.low, c.high, got, c.want)
		}
	}
}

// TestColorsForDichromats checks that readers with protanopia or deuteranopia can distinguish the colors, according to
// the model of Vienot, Brettel and Mollon, "Digital video colourmaps for checking the legibility of displays by
// dichromats", 1999. Lines with similar colors must have different dashes.
func TestColorsForDichromats(t *testing.T) {
	models := map[string][3][3]float64{
		"protanopia":   {{0.11238, 0.88762, 0}, {0.11238, 0.88762, 0}, {0.00401, -0.00401, 1}},
		"deuteranopia": {{0.29275, 0.70725, 0}, {0.29275, 0.70725, 0}, {-0.02234, 0.02234, 1}},
	}
	looks := map[string][]look{"methods": nil, "partitions": nil}
	for _, m := range methods {
		looks["methods"] = append(looks["methods"], m.look)
	}
	for i, p := range append([]string{"dirichlet:0.1"}, four...) {
		looks["partitions"] = append(looks["partitions"], partitionLook(p, i))
	}
	for name, model := range models {
		seen := func(c color.NRGBA) (out [3]float64) {
			var linear [3]float64
			for i, v := range []uint8{c.R, c.G, c.B} {
				linear[i] = math.Pow(float64(v)/255, 2.2)
			}
			for i := range out {
				for j := range linear {
					out[i] += model[i][j] * linear[j]
				}
				out[i] = 255 * math.Pow(max(0, out[i]), 1/2.2)
			}
			return out
		}
		for of, list := range looks {
			for i, a := range list {
				for _, b := range list[:i] {
					x, y := seen(a.color), seen(b.color)
					distance := math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
					if distance < 20 || distance < 50 && slices.Equal(a.dashes, b.dashes) {
						t.Errorf("%s, %s: colors %v and %v are only %.0f apart", name, of, a.color, b.color, distance)
					}
				}
			}
		}
	}
}
