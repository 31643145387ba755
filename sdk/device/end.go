package device

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/spade-dfl/spade-edge/sdk"
)

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
