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
	ctx        context.Context
	cancel     context.CancelFunc
	codec      *wire.Codec
	inbox      chan received
	presence   *presence          // nil without Config.Patience
	silence    *transport.Silence // tracks which neighbors are silent
	outbox     map[int]*outbox    // by neighbor
	opened     <-chan string      // neighbors whose connection just opened; nil if the transport does not report it
	workers    sync.WaitGroup
	senders    sync.WaitGroup
	message    admm.Message // scratch space of decoding
	losses     []float64    // scratch space of queries
	remembered bool         // this Run called rememberHeads
	alarmed    bool         // the log reported that all queries have failed
	outgrown   bool         // the log reported that the model was clipped to the public bound
	tick       *time.Timer
	interval   time.Duration // from the last tick to the next
	moved      bool          // the node made progress since the last tick
	fed        bool          // the node took a frame since the last query
	idle       int           // frames taken since the last progress
	waiting    int           // 1 plus the round for which Observer.Waiting was called
	final      time.Time     // when the model became final
}

// start starts the goroutines of one call of Run. Each neighbor has its own sender, so that a slow neighbor does not
// delay the others.
func (n *Node) start(ctx context.Context) (*run, error) {
	codec, err := wire.NewCodec(n.fleet.Dim)
	if err != nil {
		return nil, err
	}
	r := &run{Node: n, codec: codec, inbox: make(chan received, 4), outbox: map[int]*outbox{}}
	if t, ok := n.cfg.Transport.(transport.Notifier); ok {
		r.opened = t.Opened()
	}
	r.rememberHeads() // the last process may have been killed before it stored the heads
	r.ctx, r.cancel = context.WithCancel(ctx)
	var names []string
	for _, j := range n.neighbors {
		names = append(names, n.fleet.Members[j])
	}
	r.silence = transport.NewSilence(time.Now(), names, 5*time.Second)
	if n.cfg.Patience > 0 {
		r.presence = newPresence(time.Now(), names, n.cfg.Patience)
		for name, box := range r.presence.arrived {
			r.workers.Go(func() { r.pass(name, box) })
		}
	}
	r.workers.Go(r.receive)
	for _, j := range n.neighbors {
		box := newOutbox()
		r.outbox[j] = box
		to := n.fleet.Members[j]
		r.senders.Go(func() {
			for f := box.next(); f != nil; f = box.next() {
				r.mu.Lock()
				r.status.BytesSent += int64(len(f))
				r.mu.Unlock()
				if err := n.cfg.Transport.Send(r.ctx, to, f); err != nil && r.ctx.Err() == nil {
					n.log.Warn("message not sent", "to", to, "err", err)
				}
			}
		})
	}
	r.workers.Go(r.watch)
	return r, nil
}

// stop waits up to two seconds for the last frames to be sent, and then ends all goroutines that [Node.start] started.
func (r *run) stop() {
	r.rememberHeads()
	for _, box := range r.outbox {
		box.close()
	}
	flushed := time.AfterFunc(min(2*time.Second, r.cfg.Linger), r.cancel)
	r.senders.Wait()
	flushed.Stop()
	r.cancel()
	if r.presence != nil {
		for _, box := range r.presence.arrived {
			box.close()
		}
	}
	r.workers.Wait()
}

func (r *run) receive() {
	for {
		from, frame, err := r.cfg.Transport.Recv(r.ctx)
		if err == nil && r.arrive(from, frame) {
			continue
		}
		select {
		case r.inbox <- received{from: from, frame: frame, err: err}:
		case <-r.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}
