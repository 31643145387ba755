//go:build isochronous

package dpmech

// Sampler names the sampler that releases draw their noise with: "cells", the fast one, or "isochronous", whose running
// time says nothing about the draws, if the program was built with the tag isochronous. Both are exact.
const Sampler = "isochronous"
