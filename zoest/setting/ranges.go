package setting

import "math"

// Ranges of the settings of SPADE-DFL. Integers of a run fit 32 bits on every processor.
var (
	Rounds   = Range{Min: 1, Max: math.MaxInt32, Whole: true}
	Mixing   = Range{Min: 0, Max: 1 << 16, Whole: true}
	Cooldown = Range{Min: 0, Max: math.MaxInt32, Whole: true}
	Tau      = Range{Min: 1, Max: math.MaxInt32, Whole: true}
	Batch    = Range{Min: 0, Max: math.MaxInt32, Whole: true}
	Momentum = Range{Min: 0, Max: 1, OpenMax: true}
	Rho      = Range{Min: 1e-9, Max: 1e9}
	Robust   = Range{Min: 1, Max: 1e6, Zero: "no bound"}
	Shrink   = Range{Min: 0, Max: 16}
	// Step is that of step sizes, smoothing radii and the weight of the penalty: positive numbers that float32 can hold.
	Step = Range{Min: 0x1p-126, Max: math.MaxFloat32}
	// Gain is a share of the limit of stability, tau*beta*eta*mu*rho*lambda_N < 8/3.
	Gain = Range{Min: 0, Max: 1, OpenMin: true, OpenMax: true}
)
