package main

import (
	"fmt"
	"io"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// epsilonText writes an epsilon for people: with four decimals, and never below what it is.
func epsilonText(epsilon float64) string { return dpmech.FormatEpsilon(epsilon, 4) }

// costText says in every accounting what a spend is called.
func costText(c dpmech.Cost) string {
	return fmt.Sprintf("epsilon %s at delta %v, exact (gdp); as zCDP %s; by the paper's formula %s",
		epsilonText(c.EpsilonGDP), c.Delta, epsilonText(c.EpsilonZCDP), epsilonText(c.EpsilonPaper))
}

// zeroOutText says what other libraries call the same spend.
func zeroOutText(c dpmech.Cost) string {
	return fmt.Sprintf("epsilon %s if the data set is replaced by none and not by any other: the weaker statement that other libraries make",
		epsilonText(c.EpsilonZeroOut))
}

// writeCost says what a spend is called everywhere.
func writeCost(w io.Writer, c dpmech.Cost) {
	fmt.Fprintf(w, "epsilon        %s\n", costText(c)[len("epsilon "):])
	fmt.Fprintf(w, "zero-out       %s\n", zeroOutText(c))
	fmt.Fprintf(w, "spend          rho %.6g in zCDP, mu %.6g in GDP\n", c.Rho, c.Mu)
}
