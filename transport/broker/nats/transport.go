package nats

import (
	"cmp"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
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
	if err := t.link.connect(); err != nil {
		_ = t.Close()
		return nil, err
	}
	t.Start(t.receiveAll, func() { t.link.conn.Close() })
	return t, nil
}

// build returns a transport that does not connect to the broker yet.
func build(cfg Config) (*Transport, error) {
	cfg.timing = cmp.Or(cfg.timing, defaultTiming)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.MaxFrame = cmp.Or(cfg.MaxFrame, endpoint.DefaultMaxFrame)
	t := &Transport{cfg: cfg}
	t.End = sealed.NewEnd(cfg.sealed(), &t.link)
	t.cfg.Logger = t.Log()
	t.link.run, t.link.self = sealed.Tags(cfg.Run, cfg.Name)
	t.link.Watch = sealed.NewWatch("nats", t.Log(), cfg.timing.backoffMin, cfg.timing.backoffMax)
	t.link.asking.limit = cfg.timing.answer
	t.link.cfg, t.link.dialer, t.link.lost, t.link.retry = &t.cfg, newDialer(t.Context(), &t.cfg), t.ResendAll, t.Retry
	t.link.want = jetstream.StreamConfig{
		Name: Stream(t.cfg.Run), Subjects: []string{subject(t.link.run, "*", "*", "*")}, Storage: jetstream.FileStorage,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		MaxAge: cmp.Or(cfg.MaxAge, defaultMaxAge), MaxBytes: cmp.Or(cfg.MaxBytes, -1),
	}
	return t, nil
}

// Stream returns the name of a run's stream at the broker.
func Stream(run string) string { tag, _ := sealed.Tags(run, ""); return "SPADE-" + tag }

// Subjects returns a subject pattern for the broker's permissions. It matches all subjects on which this member
// publishes in the run, and no subject on which another member publishes.
func Subjects(run, member string) string {
	ofRun, self := sealed.Tags(run, member)
	return subject(ofRun, self, "*", "*")
}

// subject returns the subject for one place of an edge; run, from and to are tags. Different places have different
// subjects, so that the broker can store several messages of an edge at the same time.
func subject(run, from, to, place string) string {
	return fmt.Sprintf("spade.%s.%s.%s.%s", run, from, to, place)
}
