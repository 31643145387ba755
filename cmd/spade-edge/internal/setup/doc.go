// Package setup makes, of the flags that commands share, a fleet, its data, oracles and forecast, and prints what a run was worth.
package setup
