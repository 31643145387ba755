package scorer

import (
	"context"
	"sync"

	"github.com/spade-dfl/spade-edge/zoest"
)

// Meter is an oracle that passes queries on to another oracle and tracks the mean of the losses. The mean is computed
// directly from the data: it must stay on the device, because no privacy guarantee covers it.
type Meter struct {
	zoest.BatchOracle

	mu    sync.Mutex
	sum   float64
	count int
}

// Digest returns the other oracle's digest of its data, or "" if it has none; see [zoest.Digester].
func (m *Meter) Digest() string {
	if d, ok := m.BatchOracle.(zoest.Digester); ok {
		return d.Digest()
	}
	return ""
}

// Loss passes the query on to the other oracle and includes its loss in the mean.
func (m *Meter) Loss(ctx context.Context, x []float32, sample int) (float64, error) {
	loss, err := m.BatchOracle.Loss(ctx, x, sample)
	if err == nil {
		m.add(loss)
	}
	return loss, err
}

// Losses passes the queries on to the other oracle and includes their losses in the mean.
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

// Mean returns the mean of the losses since the last call of Mean, or NaN if there were none.
func (m *Meter) Mean() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	mean := m.sum / float64(m.count)
	m.sum, m.count = 0, 0
	return mean
}
