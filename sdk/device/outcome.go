package device

import (
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
)

// Outcome is the result of a node's run. It has a JSON form.
type Outcome struct {
	Run        string  `json:"run"`
	Name       string  `json:"name"`
	Rounds     int     `json:"rounds"` // releases made, cool-down included
	Done       bool    `json:"done"`
	NonPrivate bool    `json:"non_private"`
	Queries    int64   `json:"queries"`                  // a multiple of the number of samples, so it must stay on this device
	Failed     int64   `json:"failed_queries,omitempty"` // losses that could not be obtained; must stay on this device, too
	Failure    string  `json:"last_failure,omitempty"`   // why the last of them could not
	Losses     string  `json:"losses,omitempty"`         // at the end: why nothing can be learned from a program's losses
	Restarts   int     `json:"restarts,omitempty"`       // how often the program that computes losses was started again
	Restart    string  `json:"last_restart,omitempty"`   // why it ended last
	BytesSent  int64   `json:"bytes_sent"`               // total size in bytes of the frames sent
	Seconds    float64 `json:"seconds"`
	Model      string  `json:"model_sha256"` // hash of the model as little-endian float32
	// Certificate is the path of the file that states the privacy loss of this run and of all runs on the same data;
	// empty without privacy.
	Certificate string `json:"certificate,omitempty"`
	// Quarantined lists the neighbors that the run excluded, each with the time and the reason.
	Quarantined []string `json:"quarantined,omitempty"`

	Spent         dpmech.Total `json:"-"` // privacy cost of the run's releases
	ConditionalOn []string     `json:"-"` // see [sdk.Config]
}

func (d *Device) outcome(began time.Time) *Outcome {
	model, st := d.node.Model(), d.node.Status()
	o := &Outcome{
		Run: d.fleet.Run, Name: d.File.Name, Rounds: st.Round, Done: st.Done, NonPrivate: d.fleet.Privacy.NonPrivate,
		Queries: st.Queries, BytesSent: st.BytesSent, Seconds: time.Since(began).Seconds(), Model: sdk.ModelHash(model),
		Failed: st.FailedQueries, Failure: st.LastFailure, Spent: d.node.Spend(), ConditionalOn: d.source.ConditionalOn,
	}
	if o.Losses = st.Flat; d.flat != nil {
		o.Losses = d.flat.Error()
	}
	if d.source.Restarts != nil {
		var last error
		if o.Restarts, last = d.source.Restarts(); last != nil {
			o.Restart = last.Error()
		}
	}
	for i := range st.Neighbors {
		n := &st.Neighbors[i]
		if q := n.Quarantine; q.Release > 0 {
			o.Quarantined = append(o.Quarantined, fmt.Sprintf("%q from release %d on: %s", n.Name, q.Release, q.Why))
		}
	}
	if d.certified() {
		o.Certificate = d.File.Certificate()
	}
	return o
}
