package monitor

import (
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk"
)

// Group shows the nodes of one process on one page, with the graph between them. Its methods may be called from any goroutine.
type Group struct {
	fleet *sdk.Fleet
	nodes []*Monitor

	mu   sync.Mutex
	hist history
	data string
}

// GroupStatus is what /status serves for a group.
type GroupStatus struct {
	Version    int         `json:"version"` // of this form: 1
	Run        string      `json:"run"`
	NonPrivate bool        `json:"non_private"`
	Edges      [][2]string `json:"edges"` // never null
	Nodes      []Status    `json:"nodes"`
	Scored     string      `json:"scored_on"` // what loss and accuracy of the group's history are of
}

// NewGroup returns the group of a fleet's nodes. scored says in a few words on which samples the group's loss and accuracy are
// measured.
func NewGroup(fleet *sdk.Fleet, scored string, nodes ...*Monitor) *Group {
	return &Group{fleet: fleet, nodes: slices.Clone(nodes), data: scored}
}

// Add takes in what is known of the network after a round; rounds come in ascending order.
func (g *Group) Add(p Point) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hist.add(p)
}

// Handler serves what the group's monitors know, as [Monitor.Handler] does; /healthz and /readyz are good if those of all nodes
// are. The metrics of the nodes differ in their label node.
func (g *Group) Handler() http.Handler { return handler(g) }

func (g *Group) statuses() []Status {
	all := make([]Status, len(g.nodes))
	for i, m := range g.nodes {
		all[i] = m.Status()
	}
	return all
}

func (g *Group) object() any {
	out := GroupStatus{
		Version: 1, Run: g.fleet.Run, NonPrivate: g.fleet.Privacy.NonPrivate, Edges: [][2]string{},
		Nodes: g.statuses(), Scored: g.data,
	}
	out.Edges = append(out.Edges, g.fleet.Edges...)
	return out
}

func (g *Group) course() History {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hist.snapshot()
}

// Healthy returns the errors of all runs that have failed.
func (g *Group) Healthy() error { return g.all((*Monitor).Healthy) }

// Ready returns what keeps nodes from taking part.
func (g *Group) Ready() error { return g.all((*Monitor).Ready) }

func (g *Group) all(ask func(*Monitor) error) error {
	var errs []error
	for _, m := range g.nodes {
		if err := ask(m); err != nil {
			errs = append(errs, errors.New(m.cfg.Name+": "+err.Error()))
		}
	}
	return errors.Join(errs...)
}
