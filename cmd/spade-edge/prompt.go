package main

import "context"

// prompt does work that knows no context, such as reading a data set, and waits for it no longer than ctx lasts. Work
// that was given up ends with the process.
func prompt[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := work()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
