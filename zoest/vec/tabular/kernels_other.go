//go:build purego || !amd64

package tabular

func shortDots(int) bool { return false }

func dotRows(z []float64, x [][]float32, table []float32, rows []int) {}

func gather(z []float64, entries []Entry, rows []float64) bool { return gatherGo(z, entries, rows) }
