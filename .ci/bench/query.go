package main

// queryTimes returns the seconds per query in a local step of dimension d. The result machine is the time of the state
// machine of package admm. The result loop is the time of a C loop with the same draws and updates, or 0 without a C
// compiler. There are 64 samples, a batch has 8 samples, and the losses of a batch are requested at once.
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
