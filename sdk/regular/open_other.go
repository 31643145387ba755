//go:build !unix

package regular

const nonblock = 0 // on this system a pipe has no path in a folder
