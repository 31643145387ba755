package device

import (
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// Outcome is the result of a node's run. It has a JSON form.
type Outcome struct {
	Run        string  `json:"run"`
	Name       string  `json:"name"`
	Rounds     int     `json:"rounds"` // releases made, cool-down included
	Done       bool    `json:"done"`
	NonPrivate bool    `json:"non_private"`
	Queries    int64   `json:"queries"`    // a multiple of the number of samples, so it must stay on this device
	BytesSent  int64   `json:"bytes_sent"` // total size in bytes of the frames sent
	Seconds    float64 `json:"seconds"`
	Model      string  `json:"model_sha256"` // hash of the model as little-endian float32
	monitor.Losses
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
		Losses: monitor.LossesOf(&st, d.source.Restarts), Spent: d.node.Spend(), ConditionalOn: d.source.ConditionalOn,
	}
	if d.flat != nil {
		o.Flat = d.flat.Error()
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
