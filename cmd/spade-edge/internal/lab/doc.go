// Package lab has the commands that need no fleet: demo, simulate and plan.
package lab
