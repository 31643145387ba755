package mqtt

import (
	"cmp"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/sealed"
)

// Transport is a node's end of its edges. It has the methods of [transport.Transport] and [transport.Notifier]. Peers
// returns the state of every peer, sorted by name. Update replaces the keys of all peers, who cannot change themselves.
type Transport struct {
	*sealed.End
	cfg  Config // with its defaults
	link link
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Notifier  = (*Transport)(nil)
)

// New checks the whole configuration, reporting all faults at once, and starts to connect; the broker need not be there
// yet. The slices in cfg are copied.
func New(cfg Config) (*Transport, error) {
	t, err := build(cfg)
	if err != nil {
		return nil, err
	}
	t.Start(func() { t.link.work(t.Context()) }, func() {})
	return t, nil
}

// build makes a transport that is not at work yet.
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

// ClientID returns the name by which the broker knows a member of a run: 16 hexadecimal digits. No two connections have
// the same at a time.
func ClientID(run, member string) string { _, self := sealed.Tags(run, member); return self }

// Topics returns the topic filters for an access list: on those of publish a member of a run publishes, and no other
// member; those of read it subscribes to.
func Topics(run, member string) (publish, read string) {
	ofRun, self := sealed.Tags(run, member)
	return topic(ofRun, self, "+"), topic(ofRun, "+", self)
}
