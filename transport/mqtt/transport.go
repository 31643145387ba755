package mqtt

import (
	"cmp"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/sealed"
)

// Transport is a node's part of its connections to all peers. It implements [transport.Transport] and
// [transport.Notifier]. Peers returns the state of every peer, sorted by name. Update replaces the keys of all peers;
// the set of peers is fixed.
type Transport struct {
	*sealed.End
	cfg  Config // including defaults
	link link
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Notifier  = (*Transport)(nil)
)

// New checks the whole configuration and reports all errors together. It then connects in the background, so the broker
// need not be up. New copies the slices in cfg.
func New(cfg Config) (*Transport, error) {
	t, err := build(cfg)
	if err != nil {
		return nil, err
	}
	t.Start(func() { t.link.work(t.Context()) }, func() {})
	return t, nil
}

// build returns a transport that does not connect until it is started.
func build(cfg Config) (*Transport, error) {
	cfg.timing = cmp.Or(cfg.timing, defaultTiming)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.MaxAge = cmp.Or(cfg.MaxAge, defaultMaxAge)
	t := &Transport{cfg: cfg}
	var err error
	if t.End, err = sealed.NewEnd(cfg.sealed(), &t.link); err != nil {
		return nil, err
	}
	t.cfg.Logger = t.Log()
	t.link.run, t.link.self = sealed.Tags(cfg.Run, cfg.Name)
	t.link.Watch = sealed.NewWatch("mqtt", t.Log())
	t.link.cfg, t.link.dialer, t.link.lost = &t.cfg, newDialer(&t.cfg), t.ResendAll
	t.link.take = func(from string, payload []byte) { t.Take(from, payload, true) }
	return t, nil
}

// ClientID returns a member's client id at the broker, 16 hexadecimal digits. A broker ends a connection when another
// client connects with the same id.
func ClientID(run, member string) string { _, self := sealed.Tags(run, member); return self }

// Topics returns the topic filters that a broker's access list needs for a member of a run. The member publishes on
// topics that match the filter publish, and no other member does. It subscribes to the filter read.
func Topics(run, member string) (publish, read string) {
	ofRun, self := sealed.Tags(run, member)
	return topic(ofRun, self, "+"), topic(ofRun, "+", self)
}
