package method

import (
	"context"

	"github.com/spade-dfl/spade-edge/zoest"
)

// Centered returns an oracle whose losses are those of o, minus the previous loss of the same sample, or 0 if there is
// none. The previous loss is known before the query and E u = 0, so estimates keep their conditional mean, but nearly
// all of their variance disappears. An estimator must ask for one loss of a sample at a time.
func Centered(o zoest.Oracle, samples int) zoest.Oracle {
	last := make([]float32, samples)
	return zoest.OracleFunc(func(ctx context.Context, x []float32, sample int) (float64, error) {
		loss, err := o.Loss(ctx, x, sample)
		if err != nil || !zoest.Usable(loss) {
			return loss, err
		}
		centered := float32(loss) - last[sample]
		last[sample] = float32(loss)
		return float64(centered), nil
	})
}
