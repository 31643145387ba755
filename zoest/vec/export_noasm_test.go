//go:build purego || !(amd64 || arm64)

package vec

// Variants returns the variants that this processor can run.
func Variants() []Kernels { return []Kernels{Reference} }

// Chosen names the variant that the exported functions use.
func Chosen() string { return "Go" }

// Choose makes the exported functions use another variant, if there is a choice, and reports whether they do.
func Choose(name string) bool { return name == "Go" }
