//go:build !isochronous

package dpmech

// Sampler names the exact noise sampler of this build: the fast sampler "cells" or, with the build tag isochronous, the
// sampler "isochronous", whose running time reveals nothing about the draws.
const Sampler = "cells"
