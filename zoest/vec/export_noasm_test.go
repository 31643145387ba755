//go:build purego || !(amd64 || arm64)

package vec

// Variants returns the variants that this processor can run.
func Variants() []Kernels { return []Kernels{Reference} }

// Chosen returns the name of the variant that the exported functions use.
func Chosen() string { return "Go" }

// Choose makes the exported functions use the named variant if it is available. It reports whether they now use it.
func Choose(name string) bool { return name == "Go" }
