//go:build purego || !amd64

package vec

func gather(z []float64, entries []Entry, rows []float64) bool { return gatherGo(z, entries, rows) }
