// Package pair makes the noise keys of two neighbors: from a secret that only the two of them know, one key for each
// release of a run.
package pair
