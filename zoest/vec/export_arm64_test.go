//go:build !purego

package vec

// Variants returns the variants that this processor can run.
func Variants() []Kernels {
	return []Kernels{
		Reference,
		{"NEON", dot, axpy, scale, step, added(signPerturb),
			signPerturb, signAdd, signScale, signReplace, signFold},
	}
}

// Chosen returns the name of the variant that the exported functions use.
func Chosen() string { return "NEON" }

// Choose makes the exported functions use the named variant if it is available. It reports whether they now use it.
func Choose(name string) bool { return name == "NEON" }
