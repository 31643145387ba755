package versus

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/examples/paper/scale"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest"
)

// learn performs the job in a folder with the SDK: in the paper's form or, if tracking is true, with the tracking
// estimator and Walsh directions. Both forms make the same number of queries.
func learn(ctx context.Context, folder string, tracking bool, seed uint64) (figure, error) {
	m, own, test, err := read(folder)
	if err != nil {
		return figure{}, err
	}
	f := &sdk.Fleet{Run: "versus", Dim: m.Dim, Privacy: sdk.Privacy{NonPrivate: true}}
	for i := range own {
		f.Members = append(f.Members, strconv.Itoa(i))
	}
	for _, e := range m.Edges {
		f.Edges = append(f.Edges, [2]string{f.Members[e[0]], f.Members[e[1]]})
	}
	f.Method = sdk.Method{Rounds: m.Rounds, Tau: m.Tau, Rho: 1, Gain: share, Seed: seed,
		Eta: admm.Schedule{m.Eta}, Mu: admm.Schedule{m.Mu}}
	if tracking { // one more step, because no query fills a table
		f.Method.Estimator, f.Method.Directions, f.Method.Tau = zoest.Tracking, zoest.Walsh, m.Tau+1
	}
	cfgs, err := sim.Machines(f, m.Samples, nil)
	if err != nil {
		return figure{}, err
	}
	members := make([]sim.Client, len(cfgs))
	for i, c := range cfgs {
		members[i] = sim.Client{Config: c, Oracle: task.NewSoftmax(own[i])}
	}
	s, err := sim.New(members)
	if err != nil {
		return figure{}, err
	}
	s.Meter = func() func(*admm.Message) (int, error) {
		codec, err := wire.NewCodec(m.Dim)
		return func(msg *admm.Message) (int, error) {
			if err != nil {
				return 0, err
			}
			return codec.Length(msg)
		}
	}
	var out figure
	start := time.Now()
	err = s.Run(ctx, func(round int) error {
		out.Seconds += time.Since(start).Seconds()
		out.Rounds, out.Accuracy = round, 0
		models := s.Models()
		for _, x := range models {
			out.Accuracy += 100 * test.Accuracy(x) / float64(len(models))
		}
		start = time.Now()
		if out.Accuracy >= m.Goal {
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	out.Bytes, out.MB = s.Weight(), scale.Peak()
	return out, err
}
