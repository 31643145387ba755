package sdk

import (
	"context"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

// run is the state of one call of [Node.Run].
type run struct {
	*Node
	ctx      context.Context
	cancel   context.CancelFunc
	codec    *wire.Codec
	inbox    chan parcel       // what has arrived, for the loop
	arrived  map[string]*queue // by neighbor: what is on its way to inbox; nil without Config.Patience
	outbox   map[int]*queue    // by neighbor
	opened   <-chan string     // neighbors whose connection just opened; nil if the transport does not report it
	presence *presence
	pace     pace
	workers  sync.WaitGroup
	senders  sync.WaitGroup

	message admm.Message // scratch space of decoding
	losses  []float64    // scratch space of queries

	firsts    map[int]float64 // first losses of some samples; nil once one has changed
	unchanged int             // losses of these samples after the first

	fed        bool      // the node took a frame since the last query
	final      time.Time // when the model became final
	begun      int       // the release for which Events.Began was called
	waiting    int       // 1 plus the round for which Events.Waiting was called
	remembered bool      // this Run called rememberHeads
	alarmed    bool      // the log reported that all queries have failed
	outgrown   bool      // the log reported that the model was clipped to the public bound
}

// start starts the goroutines of one call of Run. Each neighbor has its own sender, so that a slow neighbor does not
// delay the others.
func (n *Node) start(ctx context.Context) (*run, error) {
	codec, err := wire.NewCodec(n.fleet.Dim)
	if err != nil {
		return nil, err
	}
	r := &run{Node: n, codec: codec, inbox: make(chan parcel, 4), outbox: map[int]*queue{}, firsts: map[int]float64{}, pace: newPace(n.cfg.ResendAfter)}
	if t, ok := n.cfg.Transport.(transport.Notifier); ok {
		r.opened = t.Opened()
	}
	r.rememberHeads() // the last process may have been killed before it stored the heads
	r.ctx, r.cancel = context.WithCancel(ctx)
	var names []string
	for _, j := range n.neighbors {
		name, box := n.fleet.Members[j], newQueue()
		names, r.outbox[j] = append(names, name), box
		r.senders.Go(func() { r.transmit(name, box) })
	}
	r.presence = newPresence(time.Now(), names, n.cfg.Patience)
	if n.cfg.Patience > 0 {
		r.arrived = map[string]*queue{}
		for _, name := range names {
			box := newQueue()
			r.arrived[name] = box
			r.workers.Go(func() {
				for in, ok := box.next(); ok && r.pass(in); in, ok = box.next() {
				}
			})
		}
	}
	r.workers.Go(r.receive)
	r.workers.Go(r.watch)
	return r, nil
}

// stop waits up to two seconds for the last frames to be sent, and then ends all goroutines that [Node.start] started.
func (r *run) stop() {
	r.pace.timer.Stop()
	r.rememberHeads()
	for _, box := range r.outbox {
		box.close()
	}
	flushed := time.AfterFunc(min(2*time.Second, r.cfg.Linger), r.cancel)
	r.senders.Wait()
	flushed.Stop()
	r.cancel()
	for _, box := range r.arrived {
		box.close()
	}
	r.workers.Wait()
}
