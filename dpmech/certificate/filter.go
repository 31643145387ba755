package certificate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/internal/faults"
	"github.com/spade-dfl/spade-edge/dpmech/strict"
)

type filterState struct {
	Version int           `json:"version"`
	Limit   *dpmech.Limit `json:"limit"`
	Spends  dpmech.Spends `json:"releases"`
}

// SaveFilter returns a filter as compact JSON for [LoadFilter]: about 100 bytes, plus at most 90 bytes for each change in
// parameters. Equal filters have equal states.
func SaveFilter(f *dpmech.Filter) []byte {
	state, err := json.Marshal(filterState{Version: 1, Limit: f.Limit(), Spends: append(dpmech.Spends{}, f.Spends()...)})
	if err != nil {
		panic(err) // cannot fail: the numbers in a filter are finite
	}
	return state
}

// LoadFilter returns the filter with the given state, which must be exactly as returned by SaveFilter, byte for byte.
func LoadFilter(state []byte) (*dpmech.Filter, error) {
	var s filterState
	if err := strict.ReadJSON(state, &s); err != nil {
		return nil, faults.Within("filter state", err)
	}
	wrong := faults.List{s.Spends.Validate(), s.Limit.Validate()}
	wrong.Want(s.Version == 1, "version is %d, want 1", s.Version)
	if err := errors.Join(wrong...); err != nil {
		return nil, faults.Within("filter state", err)
	}
	f := dpmech.Resume(s.Limit, s.Spends)
	if !bytes.Equal(SaveFilter(f), state) {
		return nil, fmt.Errorf("dpmech: filter state: the %d bytes are damaged, or were not written by SaveFilter", len(state))
	}
	return f, nil
}
