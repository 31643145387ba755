package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

func simulate(ctx context.Context, c *cmdline) error {
	o := newOptions(c)
	o.data, o.nodes, o.graph, o.partition = "synthetic:clinical", 50, "er:0.3", "iid"
	if err := o.read(c); err != nil {
		return err
	}
	p, err := prompt(ctx, func() (*problem, error) { return o.build("simulate") })
	if err != nil {
		return err
	}
	p.writeChosen(c.log)
	if o.nonPrivate {
		fmt.Fprintln(c.log, "NOT PRIVATE: nothing is clipped and no noise is added")
	}
	r, err := p.simulate(ctx, newProgress(c.log, o.rounds, p.opt.cooldown))
	if err != nil {
		return err
	}
	return c.print(r, func(t table) {
		t.row("accuracy", "%.2f %% on average over %d clients, %.2f %% at the lowest, "+
			"%.2f %% for the network's average model",
			r.AccuracyMean, r.Nodes, r.AccuracyMin, r.AccuracyNetworkMean)
		if r.AccuracyAveraged != nil {
			t.row("averaged", "%.2f %% with each client's running mean of its releases", *r.AccuracyAveraged)
		}
		t.row("consensus error", "%.3g, mean squared distance from the average model", r.ConsensusError)
		t.row("cost", "%d losses, %d numbers (%s) sent, %.1f s", r.Queries, r.ScalarsSent, bytesText(r.BytesSent), r.Seconds)
		r.writePrivacy(t)
		t.row("transcript", "%s", r.Transcript)
	})
}

// simulate runs the problem on one goroutine.
func (p *problem) simulate(ctx context.Context, show *progress) (*result, error) {
	cfgs, err := p.fleet.Machines(p.samples, func(i int) io.Reader {
		s := rng.New(p.opt.seed, rng.Address{Purpose: rng.Noise, Client: uint32(i)})
		return &s
	})
	if err != nil {
		return nil, err
	}
	network, err := p.network(cfgs, p.oracles...)
	if err != nil {
		return nil, err
	}
	r := p.newResult(true)
	codec, err := wire.NewCodec(p.fleet.Dim)
	if err != nil {
		return nil, err
	}
	var frame []byte
	var encoding error
	network.OnSend = func(msg admm.Message) {
		var err error
		sent := signedBlank(msg)
		if frame, err = codec.Append(frame[:0], &sent); err != nil {
			encoding = err
		}
		r.BytesSent += int64(len(frame))
	}
	network.OnSend(admm.Message{Kind: admm.Done, Round: p.fleet.Method.Rounds + p.fleet.Method.Cooldown})
	r.BytesSent *= 2 * int64(len(p.fleet.Edges)) // the last words, all of one length, which a simulation can do without
	start := time.Now()
	defer show.end()
	err = network.Run(ctx, func(k int) error {
		show.round(k, fmt.Sprintf("average model %.2f %%", 100*p.test.Accuracy(mean(network.Models()))))
		return encoding
	})
	if err != nil {
		return nil, err
	}
	r.Seconds = time.Since(start).Seconds()
	r.Queries, _ = network.Queries()
	r.Transcript = network.Transcript()
	_, err = r.score(p, network.Models(), network.Averages())
	return r, err
}
