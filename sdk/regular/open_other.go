//go:build !unix

package regular

const nonblock = 0 // here no pipe has a path in a folder
