package vec

func signDot(x []float32, signs []uint64) float64 { return signDotGo(x, signs) }
