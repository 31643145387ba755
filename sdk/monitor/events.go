package monitor

import (
	"log/slog"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Log returns events that write to a log: at level INFO what ends or changes a run, and at DEBUG the rest.
// Failures of queries go to DEBUG, because their text depends on data. Config.Logger already gets dropped edges
// and refused frames: use another log.
func Log(log *slog.Logger) sdk.Events {
	return sdk.Events{
		Began:     func(release int) { log.Debug("round begins", "release", release) },
		Released:  func(release int, _ []float32) { log.Debug("released", "release", release) },
		Waiting:   func(release int, from []string) { log.Info("waiting", "after", release, "for", from) },
		Connected: func(neighbor string) { log.Info("connected", "neighbor", neighbor) },
		Silent: func(neighbor string, long time.Duration, reason string) {
			log.Info("silent", "neighbor", neighbor, "for", long.Round(time.Second), "connection", reason)
		},
		Dropped: func(q state.Quarantine) {
			log.Info("edge dropped", "neighbor", q.Neighbor, "release", q.Release, "why", q.Why)
		},
		Refused: func(neighbor string, why error) { log.Info("frame refused", "neighbor", neighbor, "why", why) },
		Failed:  func(why error) { log.Debug("query failed", "why", why) },
		Done:    func([]float32) { log.Info("the model is final") },
	}
}
