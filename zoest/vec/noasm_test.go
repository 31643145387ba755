//go:build purego || !(amd64 || arm64)

package vec_test

const assembly = false
