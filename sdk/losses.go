package sdk

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest"
)

// retries is the number of times that a failed query is repeated. It must be at least 1, because a failed batch is
// repeated record by record to save the losses of the records that do not fail.
const retries = 2

// answer asks the oracle. In a run that is not private, a query without a loss ends the run. In a private run nobody else
// may notice it: neither frames nor their lengths depend on it.
func (r *run) answer(queries []zoest.Query) error {
	r.began()
	r.losses = slices.Grow(r.losses[:0], len(queries))[:len(queries)]
	err := zoest.Ask(r.ctx, r.cfg.Oracle, queries, r.losses, retries)
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx) // the queries remain open
	}
	if err != nil && r.fleet.Privacy.NonPrivate {
		return fmt.Errorf("sdk: %q in round %d: %w", r.cfg.Name, r.machine.Begun(), err)
	}
	if refused := r.machine.Answer(r.losses...); refused != nil {
		return refused
	}
	if err != nil {
		r.queryFailed(err)
	}
	r.checkFlat(queries)
	return nil
}

// compared is the number of samples whose losses checkFlat compares.
const compared = 64

// checkFlat finds out whether an oracle ignores x: whether no loss of the first samples ever differs from the first one.
func (r *run) checkFlat(queries []zoest.Query) {
	if r.firsts == nil { // a loss has changed
		return
	}
	for i, q := range queries {
		first, known := r.firsts[q.Sample]
		switch got := r.losses[i]; {
		case got != got || !known && len(r.firsts) == compared:
		case !known:
			r.firsts[q.Sample] = got
		case got == first:
			r.unchanged++
		default:
			r.firsts, r.flat = nil, ""
			return
		}
	}
	if r.unchanged >= alarm {
		r.flat = fmt.Sprintf("no loss of %d samples has changed in %d queries at different x, so nothing can be learned from them: "+
			"the oracle must compute each loss at the x of its query", len(r.firsts), r.unchanged)
	}
}

// logFlat logs, at the end, that nothing could be learned from the losses. Logs of a private run may leave the device at
// levels other than DEBUG.
func (r *run) logFlat() {
	level := slog.LevelDebug
	if r.fleet.Privacy.NonPrivate {
		level = slog.LevelWarn
	}
	if r.flat != "" {
		r.log.Log(r.ctx, level, r.flat)
	}
}

// alarm is the number of queries after which the log reports that all have failed.
const alarm = 100

// queryFailed takes note of a query without a loss, for the owner of the device.
//
// The error depends on data. Log messages at level DEBUG stay on the device, while messages at other levels may leave
// it. The only exception is an oracle that has never returned a loss.
func (r *run) queryFailed(err error) {
	r.failure = failureText(err.Error())
	r.log.Debug("a loss is unavailable, and a constant replaces it", "err", err)
	if told := r.cfg.Events.Failed; told != nil && r.telling.TryLock() {
		go func() {
			defer r.telling.Unlock()
			told(err)
		}()
	}
	if r.alarmed {
		return
	}
	if st := r.machine.Status(); st.Queries >= alarm && st.Failed == st.Queries {
		r.alarmed = true
		r.log.Warn("no query has had a loss: this node adds nothing but noise to the run, and its privacy budget is being spent", "err", err)
	}
}

// failureText returns a text of at most [wire.MaxFailure] bytes. It leaves out the middle of a longer text.
func failureText(text string) string {
	const gap, half = "\n...\n", wire.MaxFailure/2 - 4
	if len(text) > wire.MaxFailure {
		text = text[:half] + gap + text[len(text)-half:]
	}
	return text
}

// storedFailure returns [Status].LastFailure for a stored state. States of a private run have the same size whether
// queries failed or not.
func (n *Node) storedFailure() []byte {
	if n.fleet.Privacy.NonPrivate {
		return nil
	}
	return append([]byte(n.failure), make([]byte, wire.MaxFailure-len(n.failure))...)
}
