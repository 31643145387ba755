package zoest

import "math"

// offsets holds a constant for each component, which is subtracted from the component's losses in float64, before they
// are rounded to float32. Otherwise a loss such as 1e8 + |x|^2 would lose what depends on x. It belongs to the memory of
// the kind [Tracking].
//
// A component whose first loss is below large in magnitude has no offset. The first larger loss becomes the offset, and
// adds nothing to the estimate. The offset follows a loss that falls: when the rest exceeds the loss itself, the loss
// becomes the new offset. So a loss never has fewer digits than without an offset.
type offsets struct {
	levels    []float32 // the levels of the linear models, which are relative to the offsets
	high, low []float32 // the offset of component h is high[h] + low[h], with 48 bits
}

const large = 1024

// newOffsets uses the first 3m numbers of memory.
func newOffsets(memory []float32, m int) offsets {
	return offsets{memory[:m:m], memory[m : 2*m : 2*m], memory[2*m : 3*m : 3*m]}
}

func (o *offsets) of(h int) float64 { return float64(o.high[h]) + float64(o.low[h]) }

// subtract returns a loss of component h minus the component's offset, which it may change first.
func (o *offsets) subtract(h int, loss float64) float64 {
	offset := o.of(h)
	rest, small := loss-offset, math.Abs(loss) < large
	first := offset == 0 && o.levels[h] == 0
	switch {
	case first && small, !first && (offset == 0 || math.Abs(rest) <= math.Abs(loss)):
		return rest
	case small:
		loss = 0
	}
	o.high[h] = float32(loss)
	o.low[h] = float32(loss - float64(o.high[h]))
	moved := o.of(h) - offset
	if !first {
		o.levels[h] = float32(float64(o.levels[h]) - moved)
	}
	return rest - moved
}
