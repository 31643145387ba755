package monitor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Phase is the current activity of a node.
type Phase string

// The phases of a running node.
const (
	Starting Phase = "starting" // the run has not begun
	Querying Phase = "querying" // the node queries its oracle and makes its release
	Waiting  Phase = "waiting"  // the node waits for a neighbor's message
	Cooling  Phase = "cooling"  // the node is in the cool-down, which touches no data and spends nothing
	Serving  Phase = "serving"  // the model is final; the node stays until its neighbors have all messages they need
	Ended    Phase = "ended"    // the run is over
	Failed   Phase = "failed"   // the run ended with an error
)

// The phases of a node that is not running, read from disk.
const (
	Fresh    Phase = "fresh"    // the node has made no release
	Stopped  Phase = "stopped"  // the node has made releases, and can continue
	Finished Phase = "finished" // the node has made its last release
	Damaged  Phase = "damaged"  // the node would refuse to continue, see Status.Fault
)

// Value is a number, or NaN if it is unknown. The JSON form of NaN is null.
type Value float64

// Unknown returns the unknown value.
func Unknown() Value { return Value(math.NaN()) }

// Known reports whether v is a finite number.
func (v Value) Known() bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Known() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(v), 'g', -1, 64), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(text []byte) error {
	*v = Unknown() // encoding/json leaves a number unchanged for null
	return json.Unmarshal(text, (*float64)(v))
}

// Status is the state of a node: the content of /status, and the output of "spade-edge status -json".
type Status struct {
	Version    int    `json:"version"`           // version of this format: 1
	Program    string `json:"program,omitempty"` // name and version of the program that runs the node; empty if unknown
	Run        string `json:"run"`
	Name       string `json:"name"`
	NonPrivate bool   `json:"non_private"`

	Running bool    `json:"running"` // true if the status comes from the running node, false if it was read from disk
	Ready   bool    `json:"ready"`   // whether /readyz answers 200
	Phase   Phase   `json:"phase"`
	Seconds float64 `json:"phase_seconds"` // time in this phase; 0 if unknown
	// Stalled is the time without progress while no neighbor's message is missing: the oracle does not answer, or the
	// disk does not finish storing a release. It is 0 while the node waits for a neighbor or is not running.
	Stalled float64  `json:"stalled_seconds"`
	Uptime  float64  `json:"uptime_seconds"`  // time since the monitor was created
	Waiting []string `json:"waiting_for"`     // neighbors whose messages the round waits for; never null
	Fault   string   `json:"fault,omitempty"` // why the run failed, or how the state is damaged

	Round    int `json:"round"`            // number of releases made so far, cool-down included
	Rounds   int `json:"rounds"`           // number of learning rounds, with the mixing rounds that belong to them
	Cooldown int `json:"cooldown"`         // number of cool-down rounds, which follow the learning rounds
	Mixing   int `json:"mixing,omitempty"` // number of rounds of pure consensus after each learning round

	Queries       int64 `json:"queries"`          // losses requested; reveals the number of samples: keep on this device
	FrameBytes    int64 `json:"frame_bytes_sent"` // bytes of encoded frames handed to the transport since the process began
	RefusedFrames int64 `json:"refused_frames"`   // number of invalid frames that neighbors sent

	// ConsensusError is the mean, over the neighbors, of the squared distance between the neighbor's release and this
	// node's release in round Compared, the latest round that is not followed by mixing rounds; see
	// [sdk.Status].
	ConsensusError Value `json:"consensus_error"`
	Compared       int   `json:"consensus_error_round"`

	Neighbors []Neighbor `json:"neighbors"`          // in the order of the fleet's members; read from disk, only those in quarantine; never null
	Privacy   *Privacy   `json:"privacy"`            // null if the fleet is not private
	Local     *Local     `json:"local"`              // null if unknown
	Evidence  []Evidence `json:"evidence,omitempty"` // evidence against members; it does not mean that this node failed

	// OtherLedgers are ledgers of this member that neighbors know of and that its ledger does not count.
	OtherLedgers []OtherLedger `json:"other_ledgers,omitempty"`
	DataChanged  string        `json:"data_changed,omitempty"` // names the releases before which this node's data changed

	obstacle string // why the node is not ready; empty if the node is ready
}

// NewStatus returns the part of a member's status that follows from st. Phase is Fresh, and the caller sets what else it
// knows. Evidence has one element for each pair of member and round.
func NewStatus(f *sdk.Fleet, name string, st *sdk.Status) Status {
	out := Status{
		Version: 1, Run: f.Run, Name: name, NonPrivate: f.Privacy.NonPrivate, Phase: Fresh, Waiting: append([]string{}, st.Waiting...),
		Round: st.Round, Rounds: f.Method.Learning(), Cooldown: f.Method.Cooldown, Mixing: f.Method.Mixing, Queries: st.Queries,
		FrameBytes: st.BytesSent, RefusedFrames: st.Refused, DataChanged: st.DataChanged, ConsensusError: Unknown(), Neighbors: []Neighbor{},
	}
	for i := range st.Evidence {
		if one := (Evidence{st.Evidence[i].Member, st.Evidence[i].Round}); !slices.Contains(out.Evidence, one) {
			out.Evidence = append(out.Evidence, one)
		}
	}
	for _, o := range st.OtherLedgers {
		out.OtherLedgers = append(out.OtherLedgers, OtherLedger{o.Signed.LedgerID(), o.By})
	}
	return out
}

// Progress returns the number of releases that the run has made, in words: "round 3 of 80", or, with rounds of mixing,
// "release 12 of 280, learning round 3 of 50 (mixing 1 of 4)".
func (s *Status) Progress() string {
	if s.Mixing == 0 {
		return fmt.Sprintf("round %d of %d", s.Round, s.Rounds+s.Cooldown)
	}
	text := fmt.Sprintf("release %d of %d", s.Round, s.Rounds+s.Cooldown)
	if s.Round > 0 {
		m := sdk.Method{Rounds: s.Rounds / (1 + s.Mixing), Mixing: s.Mixing, Cooldown: s.Cooldown}
		text += ", " + PhaseOf(m, s.Round)
	}
	return text
}

// Evidence states that a member's key signed two different releases of one round (equivocation). The node stores both
// releases as proof, see [signed.Evidence].
type Evidence struct {
	Member string `json:"member"`
	Round  int    `json:"round"`
}

// String returns what the evidence proves, in words.
func (e Evidence) String() string { return signed.Evidence{Member: e.Member, Round: e.Round}.String() }

// OtherLedger names a ledger of this member that a neighbor knows of; see [state.OtherLedger].
type OtherLedger struct {
	Ledger string `json:"ledger"`   // its id
	By     string `json:"known_by"` // the neighbor
}

// String returns a sentence that names the ledger.
func (o OtherLedger) String() string { return state.TextOfLedger(o.Ledger, o.By) }

// Neighbor is the state of a neighbor as this node sees it.
type Neighbor struct {
	Name    string `json:"name"`
	Round   int    `json:"round"`   // number of the neighbor's latest release that has arrived; 0 for none
	Behind  int    `json:"behind"`  // rounds that the neighbor is behind this node; -1 if it is one round ahead
	Missing bool   `json:"missing"` // true if this node waits for the neighbor's message
	Link    *Link  `json:"link"`    // null if the connection is unknown

	// Like is set if more than two neighbors, from which nothing has ever come, differ only in their addresses: it is the
	// name of the first of them, for whose row all stand. Their Link.Fault then has no address.
	Like string `json:"like,omitempty"`

	Refused    int64       `json:"refused_frames,omitempty"` // invalid frames from the neighbor since the process began
	Quarantine *Quarantine `json:"quarantine,omitempty"`     // nil unless the node excluded the neighbor
}

// Quarantine states since when the node has excluded a neighbor, and why.
type Quarantine struct {
	Release int    `json:"release"` // the node's first release without the neighbor
	Reason  string `json:"reason"`
}

// Link is the state of the connection with a neighbor. A neighbor behind a broker counts as connected if the broker stores
// messages for it, and a message of the neighbor has arrived recently.
type Link struct {
	Name      string  `json:"-"`
	Broker    bool    `json:"broker,omitempty"` // the neighbor is reached through a broker
	Connected bool    `json:"connected"`
	Silent    bool    `json:"silent,omitempty"`        // the broker works, but the neighbor has been silent for too long
	Heard     float64 `json:"heard_seconds,omitempty"` // with a broker: time since the neighbor's last message; 0 if none has arrived
	// Seconds is the time since Connected last changed, or since the start if it never has; if Silent is true, the
	// duration of the silence.
	Seconds  float64 `json:"seconds"`
	Sent     int64   `json:"bytes_sent"`        // bytes sent over all connections since the start, with overhead
	Received int64   `json:"bytes_received"`    // bytes received over all connections since the start, with overhead
	Fault    string  `json:"fault,omitempty"`   // why the last connection ended or failed, see [InWords]
	Refusal  string  `json:"refusal,omitempty"` // why this node or the neighbor permanently refuses the other
	How      string  `json:"how,omitempty"`     // if connected without a broker: "dialed" or "accepted" by this node
	Address  string  `json:"address,omitempty"` // if connected: address of the neighbor or of the broker
	Proxy    string  `json:"proxy,omitempty"`   // proxy through which this node dialed
	Lost     int     `json:"lost"`              // number of connections that ended since the start
	LostBy   string  `json:"lost_by,omitempty"` // why the last of these connections ended
}

// Privacy is the privacy budget that a run has spent and the budget that it may spend.
type Privacy struct {
	Unit dpmech.Unit `json:"unit,omitzero"` // what is protected; omitted for client
	// Against has the figures for the adversary that the fleet names and, with pairwise noise, for all other members together.
	Against    []Against `json:"against"`
	Delta      float64   `json:"delta"`
	Accounting string    `json:"accounting"`
	Lifetime   *Lifetime `json:"lifetime"` // null without a ledger

	Text        string `json:"text"`         // what the run has spent, as text for people
	TextPlanned string `json:"text_planned"` // what all planned rounds of the run cost, as text for people
}

// Against is what a run has spent, and may spend, against one adversary; see [Privacy].
type Against struct {
	Adversary   string  `json:"adversary"` // in full
	Rho         float64 `json:"rho"`       // privacy loss of the releases made, in zCDP
	explain.Bar         // of the releases made, with an epsilon at Delta, as Accounting defines
	Limit       Value   `json:"epsilon_limit"`   // budget of this run; unknown if only its number of rounds is limited
	Planned     Value   `json:"epsilon_planned"` // epsilon of all planned rounds of the run

	Text   string `json:"text"`    // both epsilons, and the guess, as text for people: "ε 0.31 of 1.00, 53 in 100"
	OfText string `json:"of_text"` // the planned epsilon as text for people
}

// Lifetime is the total cost of all runs on the data set. Against begins with the weakest adversary that any of these runs
// names, which may differ from the adversary of the current run.
type Lifetime struct {
	Dataset string            `json:"dataset"`
	Unit    dpmech.Unit       `json:"unit,omitzero"` // what is protected; omitted for client
	Runs    int               `json:"runs"`
	Against []LifetimeAgainst `json:"against"`
	Text    string            `json:"text"` // figures against all of them, for people
}

// LifetimeAgainst is what all runs have spent against one adversary; see [Lifetime].
type LifetimeAgainst struct {
	Adversary string `json:"adversary"`
	Epsilon   Value  `json:"epsilon"`       // epsilon at Privacy.Delta, as Privacy.Accounting defines
	Limit     Value  `json:"epsilon_limit"` // limit, which has its own delta and accounting; unknown without a limit
}

// NewPrivacy returns what a run of a private fleet has spent. life is the content of the ledger, or nil
// without a ledger.
func NewPrivacy(f *sdk.Fleet, spent dpmech.Total, life *certificate.Lifetime) *Privacy {
	p := f.Privacy
	epsilon := func(rho float64) float64 { return p.Accounting.Epsilon(rho, p.Delta) }
	limit := func(epsilon float64) Value {
		if epsilon > 0 {
			return Value(epsilon)
		}
		return Unknown()
	}
	total := f.Total(f.Method.Rounds)
	planned, now := total.Figures(), spent.Figures()
	out := &Privacy{Unit: p.Protects(), Delta: p.Delta, Accounting: p.Accounting.String(), Text: explain.Total(spent, p.Delta, p.Accounting),
		TextPlanned: explain.Total(total, p.Delta, p.Accounting)}
	for i, bar := range explain.Bars(total, p.Delta, p.Accounting) { // until the first release, spent has a single figure
		a := Against{Adversary: planned[i].Adversary, Rho: now[min(i, len(now)-1)].Rho, Bar: bar, Planned: Value(bar.Epsilon),
			Limit: limit([]float64{p.EpsilonLimit, p.LimitAll}[i]), OfText: explain.Epsilon(bar.Epsilon)}
		a.Epsilon, a.Guess = epsilon(a.Rho), explain.Guess(a.Rho)
		a.Text = fmt.Sprintf("ε %s of %s, %d in 100", explain.Epsilon(a.Epsilon), a.OfText, explain.Times(a.Guess))
		out.Against = append(out.Against, a)
	}
	if life != nil {
		most := cmp.Or(life.Limit, new(dpmech.Limit))
		out.Lifetime = &Lifetime{Dataset: life.Dataset, Unit: life.Unit, Runs: len(life.Runs), Text: explain.Total(life.Total(), p.Delta, p.Accounting)}
		for i, figure := range life.Total().Figures() {
			out.Lifetime.Against = append(out.Lifetime.Against, LifetimeAgainst{figure.Adversary, Value(epsilon(figure.Rho)),
				limit([]float64{most.Epsilon, most.EpsilonAll}[i])})
		}
	}
	return out
}

// Local holds results that come directly from the device's data: no privacy guarantee covers them. They are shown on
// loopback only; the [Metrics] of a private run, which leave the device, do not contain them.
type Local struct {
	Covered   bool  `json:"covered_by_privacy"` // always false
	Round     int   `json:"round"`              // round of the release that was scored last; 0 for none
	Loss      Value `json:"loss"`
	Accuracy  Value `json:"accuracy"`   // share in [0, 1]
	Majority  Value `json:"majority"`   // the accuracy of always predicting the most frequent class
	OfQueries bool  `json:"of_queries"` // true if Loss is the mean of a program's answers
	Losses
	// FirstRound is a forecast of the seconds that the first round will last from now on; 0 if it is over or unknown.
	FirstRound float64 `json:"first_round_seconds,omitempty"`
}

// Losses says what went wrong with the losses of a node. It depends on the data, so it must stay on the device.
type Losses struct {
	FailedQueries int64  `json:"failed_queries"`         // losses not obtained; a private run uses constants instead
	LastFailure   string `json:"last_failure,omitempty"` // why the last failed query has no loss, perhaps with a stack
	Flat          string `json:"losses,omitempty"`       // why nothing can be learned from the losses
	Restarts      int    `json:"restarts,omitempty"`     // how often a program that computes losses was started again
	LastRestart   string `json:"last_restart,omitempty"` // why it ended last
}

// LossesOf returns the losses of a node's status. restarts is as in [Config], and may be nil.
func LossesOf(st *sdk.Status, restarts func() (n int, last error)) Losses {
	l := Losses{FailedQueries: st.FailedQueries, LastFailure: st.LastFailure, Flat: st.Flat}
	if restarts != nil {
		var last error
		if l.Restarts, last = restarts(); last != nil {
			l.LastRestart = last.Error()
		}
	}
	return l
}
