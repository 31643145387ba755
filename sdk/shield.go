package sdk

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/spade-dfl/spade-edge/zoest"
)

// shield makes errors of an oracle's panics: in a private run a node that dies of its data has told its neighbors about
// them.
func shield(o Oracle) Oracle {
	if many, ok := o.(zoest.BatchOracle); ok {
		return shieldedBatch{shielded{o}, many}
	}
	return shielded{o}
}

type shielded struct{ Oracle }

func (s shielded) Loss(ctx context.Context, x []float32, sample int) (loss float64, err error) {
	defer rescue(&err)
	return s.Oracle.Loss(ctx, x, sample)
}

type shieldedBatch struct {
	shielded
	many zoest.BatchOracle
}

func (s shieldedBatch) Losses(ctx context.Context, queries []zoest.Query, losses []float64) (err error) {
	defer rescue(&err)
	return s.many.Losses(ctx, queries, losses)
}

func rescue(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("sdk: the oracle has panicked: %v\n%s", p, debug.Stack())
	}
}
