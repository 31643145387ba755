package main

func queryTimes(d int) (ours, theirs float64, err error) { return 0, 0, skipped("not yet") }
