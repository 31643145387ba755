package program

import (
	"context"
	"fmt"
	"io"
	"sync"
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
	p.writeForecast(c.log)
	r, err := p.simulate(ctx, newProgress(c.log, p.fleet.Method))
	if err != nil {
		return err
	}
	return c.print(r, func(t table) {
		if r.Regression != nil {
			r.Regression.write(t, r.Nodes)
		} else {
			r.writeAccuracy(t)
		}
		t.row("consensus error", "%.3g, mean squared distance from the average model", r.ConsensusError)
		t.row("cost", "%d losses, %d numbers (%s) sent, %.1f s", r.Queries, r.ScalarsSent, bytesText(r.BytesSent), r.Seconds)
		r.writePrivacy(t)
		t.row("transcript", "%s", r.Transcript)
	})
}

// writeAccuracy prints what the models at the end are worth.
func (r *result) writeAccuracy(t table) {
	t.row("accuracy", "%.2f %% on average over %d clients, %.2f %% at the lowest, "+
		"%.2f %% for the network's average model, %.2f %% by always saying the most frequent class",
		r.AccuracyMean, r.Nodes, r.AccuracyMin, r.AccuracyNetworkMean, r.AccuracyMajority)
	r.writeClasses(t)
	if r.AccuracyAveraged != nil {
		t.row("averaged", "%.2f %% with each client's running mean of its releases", *r.AccuracyAveraged)
	}
}

// frameMeter returns a function that tells the length in bytes of a message's frame, for one goroutine.
func (p *problem) frameMeter() func(*admm.Message) (int, error) {
	codec, err := wire.NewCodec(p.fleet.Dim)
	return func(msg *admm.Message) (int, error) {
		if err != nil {
			return 0, err
		}
		sent := signedBlank(*msg)
		return codec.Size(&sent)
	}
}

// simulate runs the problem on as many goroutines as there are processors.
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
	network.Meter = p.frameMeter
	// A simulation can do without the last words, which are all of one length.
	done, err := p.frameMeter()(&admm.Message{Kind: admm.Done, Round: p.fleet.Method.Last()})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	defer show.end()
	var shown sync.WaitGroup // a round is scored while the next one runs
	err = network.Run(ctx, func(k int) error {
		models := network.Models()
		shown.Wait()
		shown.Go(func() { show.round(k, "average model "+p.worth(mean(models), 2)) })
		return nil
	})
	shown.Wait()
	if err != nil {
		return nil, err
	}
	r.BytesSent = 2*int64(len(p.fleet.Edges))*int64(done) + network.Weight()
	r.Seconds = time.Since(start).Seconds()
	r.Queries, _ = network.Queries()
	r.Transcript = network.Transcript()
	_, err = r.score(p, network.Models(), network.Averages())
	return r, err
}
