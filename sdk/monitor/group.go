package monitor

import (
	"net/http"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk"
)

// Group shows the nodes of one process on one page, with the graph between them. Any goroutine may call its methods.
type Group struct {
	fleet *sdk.Fleet
	nodes []*Monitor

	mu   sync.Mutex
	hist history
	data string
	with []compared
}

// compared is a reference line in the chart of the nodes' accuracy.
type compared struct {
	Name     string `json:"name"`
	Accuracy Value  `json:"accuracy"` // share in [0, 1]
}

type groupReply struct {
	Version    int         `json:"version"` // version of this format: 1
	Run        string      `json:"run"`
	NonPrivate bool        `json:"non_private"`
	Edges      [][2]string `json:"edges"` // never null
	Nodes      []Status    `json:"nodes"`
	Scored     string      `json:"scored_on"` // samples on which loss and accuracy in the history are measured
	Compared   []compared  `json:"compared"`  // never null
}

// NewGroup returns the group of a fleet's nodes. scored is a short name for the samples on which the group's loss and
// accuracy are measured.
func NewGroup(fleet *sdk.Fleet, scored string, nodes ...*Monitor) *Group {
	return &Group{fleet: fleet, nodes: slices.Clone(nodes), data: scored}
}

// Add records the state of the network after a round; rounds must come in ascending order. Add ignores a release that
// is followed by mixing rounds of the same learning round.
func (g *Group) Add(p Point) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if mixed(g.fleet, p.Round) {
		g.hist.add(p)
	}
}

// Compare adds a horizontal line to the chart of the accuracy, for comparison: for example, the accuracy of nodes that
// are trained alone. accuracy is in [0, 1]; name labels the line.
func (g *Group) Compare(name string, accuracy float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.with = append(g.with, compared{name, Value(accuracy)})
}

// Handler serves the state of the group's monitors, as [Monitor.Handler] does; /healthz and /readyz answer 200 if they
// would answer 200 for each node. The metrics of different nodes have different values of the label node.
func (g *Group) Handler() http.Handler { return handler(g) }

func (g *Group) statuses() []Status {
	all := make([]Status, len(g.nodes))
	for i, m := range g.nodes {
		all[i] = m.Status()
	}
	return all
}

func (g *Group) reply() any {
	g.mu.Lock()
	with := append([]compared{}, g.with...)
	g.mu.Unlock()
	return groupReply{
		Version: 1, Run: g.fleet.Run, NonPrivate: g.fleet.Privacy.NonPrivate,
		Edges: append([][2]string{}, g.fleet.Edges...), Nodes: g.statuses(), Scored: g.data, Compared: with,
	}
}

func (g *Group) history() history {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hist.snapshot()
}
