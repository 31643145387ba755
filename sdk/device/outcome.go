package device

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// Outcome is the result of a node's run, and its JSON.
type Outcome struct {
	Run        string  `json:"run"`
	Name       string  `json:"name"`
	Rounds     int     `json:"rounds"` // releases made, cool-down included
	Done       bool    `json:"done"`
	NonPrivate bool    `json:"non_private"`
	Queries    int64   `json:"queries"`    // a multiple of the samples: for this device alone
	BytesSent  int64   `json:"bytes_sent"` // of encoded frames
	Seconds    float64 `json:"seconds"`
	Model      string  `json:"model_sha256"` // of the model as float32, little endian
	Local      *Local  `json:"local_display"`
	// LocalErrors takes the place of Local where a number is predicted.
	LocalErrors *LocalErrors   `json:"local_errors,omitempty"`
	Trend       *monitor.Trend `json:"trend,omitempty"` // nil if this process made fewer than 24 rounds with data
	// Certificate is the file that says what the run, and all runs on the same data, have leaked; empty without privacy.
	Certificate string `json:"certificate,omitempty"`
	// Recovered is the release after which this device took over from a lost one; 0 if it did not.
	Recovered int `json:"recovered_after,omitempty"`
	// EndedAfter is the last round with data if the run has ended early, and Stops says who has asked for what.
	EndedAfter int        `json:"ended_after_round,omitempty"`
	Stops      []sdk.Wish `json:"stops,omitempty"`
	// Suspects are the neighbors that something speaks against, each with what.
	Suspects []string `json:"suspects,omitempty"`
	// Quarantined are the neighbors without which the run has gone on, each with since when and why.
	Quarantined []string `json:"quarantined,omitempty"`

	Spent         dpmech.Total   `json:"-"` // what the run's releases have cost
	Levels        []dpmech.Level `json:"-"` // see [sdk.Fleet.Levels]
	ConditionalOn []string       `json:"-"` // see [sdk.Config]
}

// LocalErrors is Local where a number is predicted, in its unit.
type LocalErrors struct {
	fleetfile.Deviations
	Covered bool `json:"covered_by_privacy"` // false
}

// Local is what the privacy guarantee does not cover: it comes from this node's data directly.
type Local struct {
	Accuracy float64 `json:"accuracy"` // in percent, on test samples
	Majority float64 `json:"majority"` // likewise, of always saying the most frequent class
	Samples  int     `json:"test_samples"`
	Covered  bool    `json:"covered_by_privacy"` // false
}

// outcome reports a run that is over.
func (d *Device) outcome(began time.Time) *Outcome {
	model, st := d.node.Model(), d.node.Status()
	o := &Outcome{
		Run: d.fleet.Run, Name: d.File.Name, Rounds: st.Round, Done: st.Done, NonPrivate: d.fleet.Privacy.NonPrivate,
		Queries: st.Queries, BytesSent: st.BytesSent, Seconds: time.Since(began).Seconds(), Model: sdk.ModelHash(model),
		Recovered: st.Recovered, EndedAfter: st.End, Stops: st.Stops, Spent: d.node.Spend(), Levels: d.node.Levels(), ConditionalOn: d.source.ConditionalOn,
	}
	ended := *d.fleet
	ended.Method = d.Method()
	o.Trend = monitor.NewTrend(&ended, st.Trend)
	for i := range st.Neighbors {
		n := &st.Neighbors[i]
		if why := n.Influence.Suspicion(); why != "" {
			o.Suspects = append(o.Suspects, strconv.Quote(n.Name)+": "+why)
		}
		if q := n.Quarantine; q.Release > 0 {
			o.Quarantined = append(o.Quarantined, fmt.Sprintf("%q from release %d on: %s", n.Name, q.Release, q.Why))
		}
	}
	if d.certified() {
		o.Certificate = d.File.Certificate()
	}
	if test := d.source.Test; test != nil {
		if accuracy := test.Accuracy(model); !math.IsNaN(accuracy) {
			o.Local = &Local{Accuracy: 100 * accuracy, Majority: 100 * test.Majority(), Samples: test.Len()}
		} else if m, err := test.Deviations(model); err == nil {
			o.LocalErrors = &LocalErrors{Deviations: *m}
		}
	}
	return o
}
