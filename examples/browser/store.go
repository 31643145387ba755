//go:build js

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall/js"

	"github.com/spade-dfl/spade-edge/sdk/state"
)

// store is a state.Store in the page's database. A transaction of the database is complete or has not happened, so no save
// is ever torn.
type store struct {
	run string
	err error // what further calls return; a failed Save and Close set it
}

func (s *store) slot(round int) string { return fmt.Sprintf("%s/slot-%d", s.run, round&1) }

// Load implements state.Store.
func (s *store) Load() ([]state.Record, error) {
	if s.err != nil {
		return nil, s.err
	}
	var all []state.Record
	for i := range 2 {
		text, err := get(s.slot(i))
		if err != nil || text == nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		var r state.Record
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("the stored state of run %q: %w", s.run, err)
		}
		all = append(all, r)
	}
	if len(all) == 2 && all[0].Round < all[1].Round {
		all[0], all[1] = all[1], all[0]
	}
	return all, nil
}

// Save implements state.Store.
func (s *store) Save(r state.Record) error {
	if s.err == nil {
		var text []byte
		if text, s.err = json.Marshal(r); s.err == nil {
			s.err = put(s.slot(r.Round), text)
		}
	}
	return s.err
}

// Kept implements state.Store.
func (s *store) Kept(name string) ([]byte, error) { return get(s.run + "/kept/" + name) }

// Keep implements state.Store.
func (s *store) Keep(name string, data []byte) error { return put(s.run+"/kept/"+name, data) }

// Close implements state.Store. The database stays open, for the page.
func (s *store) Close() error {
	s.err = errors.New("the store is closed")
	return nil
}

// get returns what the page has kept under a name, or nil.
func get(name string) ([]byte, error) {
	v, err := await(js.Global().Call("kept", name))
	if err != nil || v.IsUndefined() {
		return nil, err
	}
	data := make([]byte, v.Length())
	js.CopyBytesToGo(data, v)
	return data, nil
}

// put keeps data under a name. It returns when the data is on the disk.
func put(name string, data []byte) error {
	array := js.Global().Get("Uint8Array").New(len(data))
	js.CopyBytesToJS(array, data)
	_, err := await(js.Global().Call("keep", name, array))
	return err
}

// await waits for a promise.
func await(promise js.Value) (v js.Value, err error) {
	done := make(chan struct{})
	kept := js.FuncOf(func(_ js.Value, args []js.Value) any { v = args[0]; close(done); return nil })
	broken := js.FuncOf(func(_ js.Value, args []js.Value) any {
		err = fmt.Errorf("the page's database: %s", args[0].Call("toString").String())
		close(done)
		return nil
	})
	defer kept.Release()
	defer broken.Release()
	promise.Call("then", kept, broken)
	<-done
	return v, err
}
