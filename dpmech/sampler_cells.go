//go:build !isochronous

package dpmech

// Sampler names the exact noise sampler of this build: "cells", which is fast, or, with the build tag isochronous,
// "isochronous", whose running time reveals nothing about the draws.
const Sampler = "cells"
