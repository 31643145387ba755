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

// Both returns events that call the functions of e, and then those of more.
func Both(e, more sdk.Events) sdk.Events {
	return sdk.Events{
		Began: both(e.Began, more.Began), Released: both2(e.Released, more.Released), Waiting: both2(e.Waiting, more.Waiting),
		Connected: both(e.Connected, more.Connected), Silent: both3(e.Silent, more.Silent), Dropped: both(e.Dropped, more.Dropped),
		Refused: both2(e.Refused, more.Refused), Failed: both(e.Failed, more.Failed), Done: both(e.Done, more.Done),
	}
}

func both[A any](f, g func(A)) func(A) {
	if f == nil {
		return g
	} else if g == nil {
		return f
	}
	return func(a A) { f(a); g(a) }
}

func both2[A, B any](f, g func(A, B)) func(A, B) {
	if f == nil {
		return g
	} else if g == nil {
		return f
	}
	return func(a A, b B) { f(a, b); g(a, b) }
}

func both3[A, B, C any](f, g func(A, B, C)) func(A, B, C) {
	if f == nil {
		return g
	} else if g == nil {
		return f
	}
	return func(a A, b B, c C) { f(a, b, c); g(a, b, c) }
}
