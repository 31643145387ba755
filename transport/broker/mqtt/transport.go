package mqtt

import (
	"cmp"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

// Transport is a node's end of the connections to all its peers. It implements [transport.Transport] and
// [transport.Notifier]. Its method Peers returns the status of every peer, sorted by name. Its method Update replaces
// the keys of all peers; the set of peers cannot change.
type Transport struct {
	*sealed.End
	cfg  Config // including defaults
	link link
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Notifier  = (*Transport)(nil)
)

// New returns a transport that connects to the broker in the background, so the broker need not be running yet. If the
// configuration is invalid, New returns all errors at once. It copies the slices in cfg.
func New(cfg Config) (*Transport, error) {
	t, err := build(cfg)
	if err != nil {
		return nil, err
	}
	t.Start(func() { t.link.work(t.Context()) }, func() {})
	return t, nil
}

// build returns a transport that does not connect to the broker yet.
func build(cfg Config) (*Transport, error) {
	cfg.timing = cmp.Or(cfg.timing, defaultTiming)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.MaxAge = cmp.Or(cfg.MaxAge, defaultMaxAge)
	t := &Transport{cfg: cfg}
	t.End = sealed.NewEnd(cfg.sealed(), &t.link)
	t.cfg.Logger = t.Log()
	t.link.run, t.link.self = sealed.Tags(cfg.Run, cfg.Name)
	t.link.Watch = sealed.NewWatch("mqtt", t.Log(), cfg.timing.backoffMin, cfg.timing.backoffMax)
	t.link.cfg, t.link.dialer, t.link.lost, t.link.retry = &t.cfg, newDialer(&t.cfg), t.ResendAll, t.Retry
	t.link.take = func(from string, payload []byte) { t.Take(from, payload, true) }
	return t, nil
}

// ClientID returns a member's client id at the broker: 16 hexadecimal digits. A broker ends a connection when another
// client connects with the same id.
func ClientID(run, member string) string { _, self := sealed.Tags(run, member); return self }

// Topics returns the two topic filters that a broker's access list needs for a member of a run. The first result
// matches the topics on which this member, and no other member, publishes. The second result matches the topics to
// which this member subscribes.
func Topics(run, member string) (publish, read string) {
	ofRun, self := sealed.Tags(run, member)
	return topic(ofRun, self, "+"), topic(ofRun, "+", self)
}
