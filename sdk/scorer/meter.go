package scorer

import (
	"context"
	"sync"

	"github.com/spade-dfl/spade-edge/zoest"
)

// Meter is an oracle that keeps the mean of another one's losses. The mean comes from the data directly: it is for the
// device alone, and no privacy guarantee covers it.
type Meter struct {
	zoest.BatchOracle

	mu    sync.Mutex
	sum   float64
	count int
}

// Loss asks the other oracle.
func (m *Meter) Loss(ctx context.Context, x []float32, sample int) (float64, error) {
	loss, err := m.BatchOracle.Loss(ctx, x, sample)
	if err == nil {
		m.add(loss)
	}
	return loss, err
}

// Losses asks the other oracle.
func (m *Meter) Losses(ctx context.Context, queries []zoest.Query, losses []float64) error {
	err := m.BatchOracle.Losses(ctx, queries, losses)
	if err == nil {
		m.add(losses...)
	}
	return err
}

func (m *Meter) add(losses ...float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, loss := range losses {
		if zoest.Usable(loss) {
			m.sum += loss
			m.count++
		}
	}
}

// Mean returns the mean of the losses since its last call, NaN for none.
func (m *Meter) Mean() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	mean := m.sum / float64(m.count)
	m.sum, m.count = 0, 0
	return mean
}
