package device

import (
	"fmt"
	"math"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
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
	Local      *Local  `json:"local_display"`
	// LocalErrors is set instead of Local if the model predicts a number.
	LocalErrors *LocalErrors `json:"local_errors,omitempty"`
	// Certificate is the path of the file that states the privacy loss of this run and of all runs on the same data;
	// empty without privacy.
	Certificate string `json:"certificate,omitempty"`
	// Quarantined lists the neighbors that the run excluded, each with the time and the reason.
	Quarantined []string `json:"quarantined,omitempty"`

	Spent         dpmech.Total `json:"-"` // privacy cost of the run's releases
	ConditionalOn []string     `json:"-"` // see [sdk.Config]
}

// LocalErrors holds the errors of a model that predicts a number, in the unit of that number. Like [Local], it comes
// directly from this node's data.
type LocalErrors struct {
	fleetfile.Deviations
	Covered bool `json:"covered_by_privacy"` // always false
}

// Local holds results of the model on this node's own samples. It comes directly from the data: no privacy guarantee
// covers it.
type Local struct {
	Accuracy float64 `json:"accuracy"` // accuracy on test samples, in percent
	Majority float64 `json:"majority"` // accuracy of always predicting the most frequent class, in percent
	Samples  int     `json:"test_samples"`
	Covered  bool    `json:"covered_by_privacy"` // always false
}

func (d *Device) outcome(began time.Time) *Outcome {
	model, st := d.node.Model(), d.node.Status()
	o := &Outcome{
		Run: d.fleet.Run, Name: d.File.Name, Rounds: st.Round, Done: st.Done, NonPrivate: d.fleet.Privacy.NonPrivate,
		Queries: st.Queries, BytesSent: st.BytesSent, Seconds: time.Since(began).Seconds(), Model: sdk.ModelHash(model),
		Failed: st.FailedQueries, Failure: st.LastFailure, Spent: d.node.Spend(), ConditionalOn: d.source.ConditionalOn,
	}
	if d.flat != nil {
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
	if test := d.source.Test; test != nil {
		if accuracy := test.Accuracy(model); !math.IsNaN(accuracy) {
			o.Local = &Local{Accuracy: 100 * accuracy, Majority: 100 * test.Majority(), Samples: test.Len()}
		} else if m, err := test.Deviations(model); err == nil {
			o.LocalErrors = &LocalErrors{Deviations: *m}
		}
	}
	return o
}
