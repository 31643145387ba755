//go:build !unix

package program

func noCoreDump() {}
