// Package versus performs one job with the SDK and with a plain numpy program, each in a separate process and on the
// same files. It compares the time until a given accuracy, the memory, and the number of bytes sent.
package versus
