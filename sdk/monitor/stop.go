package monitor

import (
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk"
)

// Stop is what members have asked for: that the run end early.
type Stop struct {
	Asked   []sdk.Wish `json:"asked"`   // by round, the earliest first
	Members int        `json:"members"` // how many have to ask
	// Round is the last round with data, counted from 1 and without mixing, once enough have asked; 0 before that.
	Round int    `json:"round"`
	Text  string `json:"text"` // all that for people
}

// EndEarly takes into a status who has asked for an early end, and with which round of data the run ends: 0 if it goes
// on as planned.
func (s *Status) EndEarly(f *sdk.Fleet, asked []sdk.Wish, end int) {
	if f.Stop == nil || len(asked) == 0 && end == 0 {
		return
	}
	s.Stop = &Stop{Asked: append([]sdk.Wish{}, asked...), Members: f.Stop.Members, Round: end}
	var by []string
	for _, w := range asked {
		by = append(by, fmt.Sprintf("%q (round %d)", w.Member, w.Last))
	}
	names := strings.Join(by, ", ")
	switch {
	case end > 0:
		s.Rounds = f.Method.EndedAt(end).Learning()
		s.Stop.Text = fmt.Sprintf("after round %d of %d, as asked by %s", end, f.Method.Rounds, names)
	case len(asked) < f.Stop.Members:
		s.Stop.Text = fmt.Sprintf("asked for by %s: %d of the %d that it takes", names, len(asked), f.Stop.Members)
	case s.Round >= s.Rounds:
		s.Stop.Text = fmt.Sprintf("asked for too late by %s", names)
	default: // the node is about to find out
		s.Stop.Text = fmt.Sprintf("after round %d of %d, as asked by %s", asked[f.Stop.Members-1].Last, f.Method.Rounds, names)
	}
}

// early returns the fleet with the end that its run has.
func early(f *sdk.Fleet, end int) *sdk.Fleet {
	if end == 0 {
		return f
	}
	g := *f
	g.Method = f.Method.EndedAt(end)
	return &g
}
