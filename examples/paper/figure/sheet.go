package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The widths of a journal column and of a journal page.
const oneColumn, twoColumns = 3.5 * vg.Inch, 7.16 * vg.Inch

// dpi is the resolution of PNG files in dots per inch. It is enough for a screen and keeps the files small.
const dpi = 100

type entry struct {
	text        string
	look        look
	line, point bool // whether to draw the line and the points of the look
}

// sheet is a figure: rows of panels under a common legend. The data areas of all panels have the same size.
type sheet struct {
	width, height vg.Length
	legend        []entry
	panels        [][]*plot.Plot
}

func (s *sheet) save(path string) error {
	switch ext := filepath.Ext(path); ext {
	case ".svg":
		return s.write(path, vgsvg.New(s.width, s.height))
	case ".png":
		return s.write(path, vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(s.width, s.height), vgimg.UseDPI(dpi))})
	default:
		return fmt.Errorf("figure: %s ends with %q, want .svg or .png", path, ext)
	}
}

func (s *sheet) write(path string, canvas vg.CanvasWriterTo) error {
	c := draw.New(canvas)
	c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	s.draw(draw.Crop(c, 2, -4, 2, -3))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	// Name the font once per file, not for each word. On systems without Liberation Sans, Arial and Helvetica are
	// fallbacks with the same letter widths.
	file := bytes.ReplaceAll(out.Bytes(),
		[]byte("font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;"), nil)
	file = bytes.Replace(file, []byte("<svg "), []byte(`<svg font-family="Liberation Sans, Arial, Helvetica, sans-serif" `), 1)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	if err := os.WriteFile(path, file, 0o666); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	return nil
}

// titleHeight is the height, in points, of the space above a panel with a title.
const titleHeight = 13

func (s *sheet) draw(c draw.Canvas) {
	c.Max.Y -= s.drawLegend(c)
	// Draw the titles outside the panels, so that all titles have the same distance to the data, regardless of what
	// else is above a panel.
	titles := make([][]string, len(s.panels))
	tiles := draw.Tiles{Rows: len(s.panels), Cols: len(s.panels[0]), PadX: 9, PadY: 9}
	for j, row := range s.panels {
		for _, p := range row {
			titles[j] = append(titles[j], p.Title.Text)
			if p.Title.Text != "" {
				tiles.PadTop = titleHeight
			}
			p.Title.Text = ""
		}
	}
	canvases := plot.Align(s.panels, tiles, c)
	style := text.Style{Color: black, Font: face(titleSize), XAlign: draw.XCenter, Handler: plot.DefaultTextHandler}
	for j, row := range s.panels {
		for i, p := range row {
			p.Draw(canvases[j][i])
			data := p.DataCanvas(canvases[j][i])
			c.FillText(style, vg.Point{X: (data.Min.X + data.Max.X) / 2, Y: data.Max.Y + 5}, titles[j][i])
			p.Title.Text = titles[j][i]
		}
	}
}

// Dimensions of the legend, in points: the lengths of a line sample and a point sample, the space after a sample, the
// space between entries, and the row height.
const lineLength, pointLength, afterSample, betweenEntries, rowHeight = 18, 5, 3, 9, 11

func (e entry) sample() vg.Length {
	if e.line {
		return lineLength
	}
	return pointLength
}

// drawLegend draws the legend at the top and returns its height. The legend has as many centered rows as needed, with
// about the same number of entries in each row.
func (s *sheet) drawLegend(c draw.Canvas) vg.Length {
	if len(s.legend) == 0 {
		return 0
	}
	style := text.Style{Color: black, Font: face(labelSize), YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
	width := func(e entry) vg.Length { return e.sample() + afterSample + style.Width(e.text) }
	var rows [][]entry
	for count := 1; rows == nil; count++ {
		per := (len(s.legend) + count - 1) / count
		for first := 0; first < len(s.legend); first += per {
			row := s.legend[first:min(first+per, len(s.legend))]
			if per > 1 && rowWidth(row, width) > c.Max.X-c.Min.X {
				rows = nil
				break
			}
			rows = append(rows, row)
		}
	}
	y := c.Max.Y - rowHeight/2
	for _, row := range rows {
		x := (c.Min.X + c.Max.X - rowWidth(row, width)) / 2
		for _, e := range row {
			if e.line {
				c.StrokeLine2(e.look.line(), x, y, x+lineLength, y)
			}
			if e.point {
				c.DrawGlyph(draw.GlyphStyle{Color: e.look.color, Radius: 2.2, Shape: e.look.glyph},
					vg.Point{X: x + e.sample()/2, Y: y})
			}
			c.FillText(style, vg.Point{X: x + e.sample() + afterSample, Y: y}, e.text)
			x += width(e) + betweenEntries
		}
		y -= rowHeight
	}
	return c.Max.Y - rowHeight/2 - y + 3
}

func rowWidth(row []entry, width func(entry) vg.Length) vg.Length {
	total := vg.Length(betweenEntries * (len(row) - 1))
	for _, e := range row {
		total += width(e)
	}
	return total
}

// place is a point of a line, together with the lower and upper ends of the range around the point.
type place struct {
	x, y, low, high float64
}

func addCurve(p *plot.Plot, l look, places []place) error {
	if len(places) == 0 {
		return nil
	}
	var ring plotter.XYs
	for _, at := range places {
		ring = append(ring, plotter.XY{X: at.x, Y: at.high})
	}
	for i := len(places) - 1; i >= 0; i-- {
		ring = append(ring, plotter.XY{X: places[i].x, Y: places[i].low})
	}
	band, err := plotter.NewPolygon(ring)
	if err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	band.Color, band.LineStyle = l.band(), draw.LineStyle{}
	p.Add(band)
	return addPath(p, l, places)
}

func addPath(p *plot.Plot, l look, places []place) error {
	var xys plotter.XYs
	for _, at := range places {
		xys = append(xys, plotter.XY{X: at.x, Y: at.y})
	}
	curve, err := plotter.NewLine(xys)
	if err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	curve.LineStyle = l.line()
	p.Add(curve)
	return nil
}

// unboxed hides the extent of a plotter's symbols from the plot, because the axes already leave room for the symbols.
type unboxed struct{ plot.Plotter }

func addGlyphs(p *plot.Plot, points *plotter.Scatter) {
	p.Add(unboxed{points})
}
