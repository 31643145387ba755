//go:build purego || !amd64

package vec

func shortRows(int) bool { return false }

func signPerturbRows(y, x []float32, mu float32, signs []uint64, stride int) {}

func signReplaceRows(table []float32, rows []int, v, abar, c []float32, signs []uint64, byB, byM float32, stride int) {
}

func signFillRows(table []float32, rows []int, sum, c []float32, signs []uint64, stride int) {}

func sigmoids([]float64) int { return 0 }

func logs([]float64) int { return 0 }
