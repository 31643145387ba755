// Package versus does one job with the SDK and with a plain numpy program, each in a process of its own and on the same
// files: how long each takes to the same accuracy, with how much memory, and how many bytes are sent.
package versus
