//go:build (amd64 || arm64) && !purego

package vec_test

const assembly = true
