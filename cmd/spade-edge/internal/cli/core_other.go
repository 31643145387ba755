//go:build !unix

package cli

func noCoreDump() {}
