package sdk

import (
	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// send queues messages for their recipients, together with the statements that prove them. A release for all neighbors
// is encoded only once.
func (r *run) send(msgs []admm.Message) error {
	var frame []byte
	for i := range msgs {
		m := &msgs[i]
		if i == 0 || !m.Repeats(&msgs[i-1]) {
			r.trust.Attach(m)
			var err error
			if frame, err = r.codec.Append(nil, m); err != nil {
				return err
			}
		}
		r.outbox[m.To].put(parcel{frame: frame, urgent: m.Kind == admm.Done})
	}
	return nil
}

// post queues messages of package trust, which have all their statements and always fit.
func (r *run) post(msgs []admm.Message) {
	for i := range msgs {
		if frame, err := r.codec.Append(nil, &msgs[i]); err == nil {
			r.outbox[msgs[i].To].put(parcel{frame: frame})
		}
	}
}

// transmit passes the frames of a neighbor's outbox to the transport until the outbox is closed.
func (r *run) transmit(name string, box *queue) {
	for f, ok := box.next(); ok; f, ok = box.next() {
		r.mu.Lock()
		r.status.BytesSent += int64(len(f.frame))
		r.mu.Unlock()
		if err := r.cfg.Transport.Send(r.ctx, name, f.frame); err != nil && r.ctx.Err() == nil {
			r.log.Warn("message not sent", "to", name, "err", err)
		}
	}
}

// reached queues the messages that a neighbor may lack. It is called when a connection to the neighbor opens.
func (r *run) reached(name string) {
	r.keep()
	j := r.peer(name)
	r.post(r.trust.Reached(j))
	r.machine.Reached(j)
	if told := r.cfg.Events.Connected; told != nil {
		told(name)
	}
}
