//go:build !isochronous

package dpmech

// Sampler names the noise sampler of this build: "cells", the fast sampler, or, with the build tag isochronous,
// "isochronous", whose running time reveals nothing about the draws. Both are exact.
const Sampler = "cells"
