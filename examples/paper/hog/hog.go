package hog

import (
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
)

// Dimensions of the descriptor.
const (
	Cell         = 8 // pixels along the side of a cell
	Orientations = 9 // bins over half a turn
	Block        = 2 // cells along the side of a block
)

// Dim returns the number of entries in the descriptor of an image of side x side pixels.
func Dim(side int) int {
	blocks := side/Cell - Block + 1
	return blocks * blocks * Block * Block * Orientations
}

// Describe returns a data set with the descriptors of the images in d. Each sample of d is an image of side x side
// pixels in row-major order. side must be a multiple of Cell, and at least Cell*Block.
func Describe(d *task.Data, side int) (*task.Data, error) {
	if side < Cell*Block || side%Cell != 0 || d.Dim != side*side {
		return nil, fmt.Errorf("hog: each row has %d numbers for an image of %d by %d pixels, want one number per "+
			"pixel, and a side length that is a multiple of %d pixels and at least %d",
			d.Dim, side, side, Cell, Cell*Block)
	}
	out := &task.Data{
		X: make([]float32, 0, d.Len()*Dim(side)), Y: d.Y, Dim: Dim(side), Classes: d.Classes, ClassNames: d.ClassNames,
	}
	h := newHistograms(side)
	for i := range d.Len() {
		h.fill(d.Row(i))
		out.X = h.appendBlocks(out.X)
	}
	return out, nil
}

// histograms holds one histogram of orientations for each cell of an image.
type histograms struct {
	side, cells int // pixels and cells along the side
	bins        []float64
}

func newHistograms(side int) *histograms {
	cells := side / Cell
	return &histograms{side: side, cells: cells, bins: make([]float64, cells*cells*Orientations)}
}

// fill computes the histograms of an image. Each pixel adds the length of its gradient to its cell's histogram, where
// the amount is divided between the two nearest orientations. Pixels outside the image have the value of the nearest
// border pixel.
func (h *histograms) fill(pixels []float32) {
	clear(h.bins)
	at := func(r, c int) float64 {
		r, c = min(max(r, 0), h.side-1), min(max(c, 0), h.side-1)
		return float64(pixels[r*h.side+c])
	}
	for r := range h.side {
		for c := range h.side {
			gx, gy := at(r, c+1)-at(r, c-1), at(r+1, c)-at(r-1, c)
			length := math.Hypot(gx, gy)
			if length == 0 {
				continue
			}
			angle := math.Atan2(gy, gx) / math.Pi // in half turns
			angle -= math.Floor(angle)
			place := float64(angle*Orientations) - 0.5
			low := math.Floor(place)
			share := place - low
			cell := h.bins[(r/Cell*h.cells+c/Cell)*Orientations:][:Orientations]
			cell[(int(low)+Orientations)%Orientations] += float64(length * (1 - share))
			cell[(int(low)+1)%Orientations] += float64(length * share)
		}
	}
}

// appendBlocks appends the descriptor to dst. The entries of each block are divided by their sum and replaced with
// their square roots, so that each block has Euclidean length one.
func (h *histograms) appendBlocks(dst []float32) []float32 {
	for r := range h.cells - Block + 1 {
		for c := range h.cells - Block + 1 {
			sum := 1e-6
			h.each(r, c, func(v float64) { sum += v })
			h.each(r, c, func(v float64) { dst = append(dst, float32(math.Sqrt(v/sum))) })
		}
	}
	return dst
}

// each calls f with every entry of the block whose first cell is in row r and column c.
func (h *histograms) each(r, c int, f func(float64)) {
	for i := range Block {
		from := ((r+i)*h.cells + c) * Orientations
		for _, v := range h.bins[from : from+Block*Orientations] {
			f(v)
		}
	}
}
