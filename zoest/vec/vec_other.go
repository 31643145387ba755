//go:build purego || !amd64

package vec

func rowsAVX512(int) bool { return false }

func signPerturbRowsAVX512(y, x []float32, mu float32, signs []uint64, stride int) {}

func signReplaceRowsAVX512(table []float32, rows []int, v, abar, c []float32, signs []uint64, byB, byM float32, stride int) {
}

func signFillRowsAVX512(table []float32, rows []int, sum, c []float32, signs []uint64, stride int) {}

func dotRowsAVX512(z []float64, x [][]float32, table []float32, rows []int) {}

func sigmoids([]float64) int { return 0 }

func logs([]float64) int { return 0 }
