package main

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// rows is the data of a member: features, and in the last column the class, 0 or 1. It implements sdk.Oracle and
// zoest.Digester with the loss of examples/scorer, (1 - p)^2, where p is the probability of the right class in a logistic
// model.
type rows struct {
	cells [][]float64
	text  string
}

// readRows reads a CSV file with a header whose rows have dim features and a class.
func readRows(text string, dim int) (*rows, error) {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll() // all rows have as many cells as the header
	if err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	if len(records) < 2 || len(records[0]) != dim+1 {
		return nil, fmt.Errorf("rows: want a header and at least one row, each with %d features and a class, because the fleet's dim is %d", dim, dim)
	}
	r := &rows{text: text}
	for i, record := range records[1:] {
		row := make([]float64, len(record))
		for j, cell := range record {
			row[j], err = strconv.ParseFloat(strings.TrimSpace(cell), 64)
			if class := j == dim; err != nil || math.IsNaN(row[j]) || math.IsInf(row[j], 0) || class && row[j] != 0 && row[j] != 1 {
				return nil, fmt.Errorf("rows: row %d, column %q is %q, want a number, and as the class 0 or 1", i+1, records[0][j], cell)
			}
		}
		r.cells = append(r.cells, row)
	}
	return r, nil
}

// Digest identifies the data, so that a page that is loaded again continues with the same bits.
func (r *rows) Digest() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(r.text))) }

// Loss returns the loss of the model x for one row.
func (r *rows) Loss(_ context.Context, x []float32, row int) (float64, error) {
	p := 1 / (1 + math.Exp(-r.margin(x, row)))
	return (1 - p) * (1 - p), nil
}

// margin is above 0 if the model x gives the right class of a row more than half of the probability.
func (r *rows) margin(x []float32, row int) (z float64) {
	cells := r.cells[row]
	for i, v := range x {
		z += float64(float64(v) * cells[i])
	}
	if cells[len(x)] == 0 {
		z = -z
	}
	return z
}

// right returns how many rows the model x gives their class.
func (r *rows) right(x []float32) (n int) {
	for i := range r.cells {
		if r.margin(x, i) > 0 {
			n++
		}
	}
	return n
}
