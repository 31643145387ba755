package task

import (
	"math"
	"slices"
	"sort"
)

// fitMargins scales rows and columns of a table in turn until its row sums are sizes and its column sums are totals
// (iterative proportional fitting; Deming and Stephan 1940). The sums of sizes and totals are equal. It overwrites the
// table. Row sums are met up to rounding; column sums too unless the fit is cut off.
func fitMargins(table [][]float64, sizes, totals []int) [][]float64 {
	const (
		floor  = 1e-9 // keeps every table fittable: a zero could never grow
		rounds = 2000
		enough = 1e-9
	)
	for _, row := range table {
		for c := range row {
			row[c] = max(row[c], floor)
		}
	}
	sums := make([]float64, len(totals))
	for range rounds {
		clear(sums)
		for i, row := range table {
			sum := 0.0
			for _, x := range row {
				sum += x
			}
			for c := range row {
				row[c] = float64(row[c] * (float64(sizes[i]) / sum))
				sums[c] += row[c]
			}
		}
		off := 0.0
		for c, sum := range sums {
			off = max(off, math.Abs(sum-float64(totals[c])))
		}
		if off <= enough {
			break
		}
		for _, row := range table {
			for c := range row {
				if sums[c] > 0 { // 0 once it is fitted to a class without samples
					row[c] = float64(row[c] * (float64(totals[c]) / sums[c]))
				}
			}
		}
	}
	return table
}

// wholeTable rounds a table to whole numbers with exactly the given row and column sums. Each entry is first rounded
// down; what rows and columns then lack goes to the entries that lost most, where both still lack something.
func wholeTable(table [][]float64, sizes, totals []int) [][]int {
	rowLeft, columnLeft := slices.Clone(sizes), slices.Clone(totals)
	whole := make([][]int, len(table))
	type entry struct {
		i, c int
		lost float64
	}
	var entries []entry
	for i, row := range table {
		whole[i] = make([]int, len(row))
		for c, x := range row {
			n := min(int(x), rowLeft[i], columnLeft[c])
			whole[i][c] = n
			rowLeft[i] -= n
			columnLeft[c] -= n
			entries = append(entries, entry{i, c, x - float64(n)})
		}
	}
	sort.SliceStable(entries, func(a, b int) bool { return entries[a].lost > entries[b].lost })
	for _, most := range []int{1, math.MaxInt} { // one each if that is enough, as it nearly always is
		for _, e := range entries {
			n := min(most, rowLeft[e.i], columnLeft[e.c])
			whole[e.i][e.c] += n
			rowLeft[e.i] -= n
			columnLeft[e.c] -= n
		}
	}
	return whole
}

// wholeShares rounds shares of total to whole numbers that sum to it, by largest remainder.
func wholeShares(shares []float64, total int) []int {
	row := make([]float64, len(shares))
	ones := make([]int, len(shares)) // columns that take anything
	for k, s := range shares {
		row[k] = float64(s * float64(total))
		ones[k] = total
	}
	return wholeTable([][]float64{row}, []int{total}, ones)[0]
}
