// Package versus performs the same job with the SDK and with a plain numpy program, each in its own process and on the
// same files. It compares the time to a given accuracy, the memory, and the number of bytes sent.
package versus
