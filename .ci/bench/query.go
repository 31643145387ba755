package main

// queryTimes measures a local step in dimension d. It returns the seconds per query of the state machine in package
// admm (machine) and of a C loop with the same draws and updates (loop). Both have 64 samples and batches of 8, and
// request all losses of a batch at once. Without a C compiler, loop is 0.
func queryTimes(d int) (machine, loop float64, err error) {
	const m, b = 64, 8
	steps := max(1, 2_000_000/(d+100))
	return inTurns(15, func() (float64, error) {
		_, ns, err := machineQueries(d, m, b, steps, b)
		return ns / 1e9, err
	}, func() (float64, error) {
		_, ns := loopQueries(d, m, b, steps)
		return ns / 1e9, nil
	})
}
