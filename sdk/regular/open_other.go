//go:build !unix

package regular

const nonblock = 0 // no pipe has a path in a folder there
