//go:build isochronous

package dpmech

// Sampler is documented in sampler_cells.go.
const Sampler = "isochronous"
