package plan

import (
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Cost returns what a round with data costs a device with so many samples: the number of losses that it asks for, and
// the memory in bytes that grows with the number of samples, besides that of the oracle. The memory is an estimate for a
// node with a Store, from measurements.
func Cost(f *sdk.Fleet, samples int) (queries, memory int64) {
	m, d, tracking := int64(samples), int64(f.Dim), f.Method.Estimator == zoest.Tracking
	queries = int64(f.Method.Tau) * int64(batchOf(f.Method, samples))
	if memory = (4*d + 16) * m; tracking {
		memory = (15*(d+3) + 16) * m // the memory of the estimator, and copies of it on the way to a stored state
	} else if f.Privacy.Unit != dpmech.Record {
		queries += m // fills the table
	}
	return queries, memory
}
