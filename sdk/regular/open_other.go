//go:build !unix

package regular

const nonblock = 0 // on this system a pipe is not a file in a folder
