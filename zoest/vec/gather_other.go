//go:build purego || !amd64

package vec

func gather(z *[GatherLanes]float64, entries []Entry, rows [][GatherLanes]float64) bool {
	return gatherGo(z, entries, rows)
}
