package device

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
)

// End says when a node asks for an early end of its run, beside a person's wish. At most one of its fields is set.
type End struct {
	Round int       // the last round with data
	At    time.Time // as soon as this time has come
	Below float64   // as soon as the consensus error is less
}

// ParseEnd reads an End: a round, a duration from now on, a time as RFC 3339 has it, or "below=" and a consensus error.
func ParseEnd(text string, now time.Time) (e End, err error) {
	if bound, ok := strings.CutPrefix(text, "below="); ok {
		if e.Below, err = strconv.ParseFloat(bound, 64); err == nil && e.Below > 0 {
			return e, nil
		}
	} else if e.Round, err = strconv.Atoi(text); err == nil && e.Round > 0 {
		return e, nil
	} else if wait, err := time.ParseDuration(text); err == nil && wait > 0 {
		return End{At: now.Add(wait)}, nil
	} else if e.At, err = time.Parse(time.RFC3339, text); err == nil {
		return End{At: e.At}, nil
	}
	return End{}, fmt.Errorf("%q: want a round such as 40, a duration such as 24h, a time such as 2026-12-01T08:00:00Z, or a "+
		"consensus error such as below=0.01", text)
}

// endWhen asks for the end of the run when the time has come, until ctx ends. It refuses what can never come.
func (d *Device) endWhen(ctx context.Context) error {
	e := d.End
	if e == (End{}) {
		return nil
	}
	if d.fleet.Stop == nil || d.Key == nil { // said at once, and not in some hours
		_, err := d.node.Stop(0)
		return err
	}
	if e.Below > 0 && d.fleet.Wire.Payload == sdk.PayloadMessage {
		return fmt.Errorf("%w: the consensus error is not known where the payload is %q", sdk.ErrStop, sdk.PayloadMessage)
	}
	switch {
	case e.Round > 0:
		if last := d.node.Status().End; last == 0 || e.Round < last {
			d.askEnd(e.Round)
		}
	case !e.At.IsZero():
		timer := time.AfterFunc(time.Until(e.At), func() { d.askEnd(0) })
		context.AfterFunc(ctx, func() { timer.Stop() })
	}
	return nil
}

// endBelow asks for the end of the run once the consensus error is small enough.
func (d *Device) endBelow() {
	st := d.node.Status()
	if d.End.Below > 0 && st.Compared > 0 && st.ConsensusError < d.End.Below {
		d.End.Below = 0 // once: the wish cannot be taken back
		d.askEnd(0)
	}
}

// askEnd asks for the end of the run in the node's name, and tells people what comes of it.
func (d *Device) askEnd(last int) {
	asked, err := d.node.Stop(last)
	if err != nil {
		d.say("%v", err)
		return
	}
	d.say("asked that round %d be the run's last with data", asked)
}

// answerEnd answers a request for an early end.
func (d *Device) answerEnd(w http.ResponseWriter, r *http.Request) {
	last, err := strconv.Atoi(r.URL.RawQuery)
	if err == nil {
		last, err = d.node.Stop(last)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	_ = json.NewEncoder(w).Encode(last)
}

// AskEnd asks the running node of a state folder to ask for an early end of its run, with last as the last round with
// data, or with 0 the earliest one that can be. It returns the round that the node has asked for.
func AskEnd(ctx context.Context, state string, last int) (int, error) {
	if err := askTwice(ctx, state, http.MethodPost, "/end?"+strconv.Itoa(last), &last); err != nil {
		return 0, err
	}
	return last, nil
}

// Method returns the fleet's method, with the end that the run has.
func (d *Device) Method() sdk.Method { return d.fleet.Method.EndedAt(d.node.Status().End) }
