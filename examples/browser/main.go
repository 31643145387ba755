//go:build js

// Command browser is a member of a fleet in a web page. See README.md.
package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"syscall/js"

	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/broker/mqtt"
)

func main() {
	js.Global().Set("spade", js.ValueOf(map[string]any{"identity": promised(identity), "train": promised(train)}))
	js.Global().Call("dispatchEvent", js.Global().Get("Event").New("spade"))
	select {}
}

// promised wraps f in a JavaScript function. This returns a promise, because f may wait.
func promised(f func(js.Value) (any, error)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		return js.Global().Get("Promise").New(js.FuncOf(func(_ js.Value, settle []js.Value) any {
			go func() {
				if v, err := f(args[0]); err != nil {
					settle[1].Invoke(err.Error())
				} else {
					settle[0].Invoke(v)
				}
			}()
			return nil
		}))
	})
}

// identity returns the line of a member for spade-edge-mqtt init -members. If the page has no key, identity creates one.
func identity(asked js.Value) (any, error) {
	key, err := readKey()
	if err != nil {
		return nil, err
	}
	line, err := fleetfile.Member{Name: asked.Get("name").String(), Keys: []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}}.MarshalJSON()
	return string(line), err
}

// readKey returns the key that the page has stored. If the page has no key, readKey creates and stores one.
func readKey() (ed25519.PrivateKey, error) {
	seed, err := get("key")
	if err == nil && seed == nil {
		var key ed25519.PrivateKey
		if _, key, err = ed25519.GenerateKey(nil); err != nil {
			return nil, err
		}
		seed = key.Seed()
		err = put("key", seed)
	}
	if err == nil && len(seed) != ed25519.SeedSize {
		err = fmt.Errorf("the stored key has %d bytes, want %d", len(seed), ed25519.SeedSize)
	}
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// train runs the member until the model is final. asked has the fleet file and the rows as texts, the member's name, the
// broker's URL, user and password, and report, a function that gets the progress.
func train(asked js.Value) (any, error) {
	text := func(field string) string { return asked.Get(field).String() }
	file, err := fleetfile.Parse([]byte(text("fleet")), "")
	if err != nil {
		return nil, err
	}
	data, err := readRows(text("rows"), file.Dim)
	if err != nil {
		return nil, err
	}
	key, err := readKey()
	if err != nil {
		return nil, err
	}
	name, store := text("name"), &store{run: file.Run}
	defer store.Close()
	var node *sdk.Node
	var link *mqtt.Transport
	report := func(waiting string) {
		st := node.Status()
		asked.Call("report", map[string]any{"round": st.Round, "last": file.Method.Last(), "spent": spent(node, file.Fleet), "waiting": waiting})
	}
	cfg := sdk.Config{Fleet: file, Name: name, Oracle: data, Samples: len(data.cells), Store: store, Key: key, Keys: file.SigningKeys,
		Events: sdk.Events{
			Released: func(int, []float32) { report("") },
			Waiting:  func(_ int, neighbors []string) { report("Waiting for " + transport.Ways(link, neighbors)) },
		}}
	if err := cfg.Validate(); err != nil { // before neighbors can see the member
		return nil, err
	}
	link, err = mqtt.New(mqtt.Config{Name: name, Key: key, Peers: file.Peers(name), Run: file.Run, Fleet: file.Hash(), URL: text("broker"),
		MaxFrame: file.MaxFrame(), Hello: file.Hello(name), CheckHello: file.CheckHello(name),
		Login: func() (user, password string, err error) { return text("user"), text("password"), nil }})
	if err != nil {
		return nil, err
	}
	cfg.Transport = link
	if node, err = sdk.New(cfg); err == nil {
		report("")
		err = node.Run(context.Background())
	}
	if err = errors.Join(err, link.Close()); err != nil {
		return nil, err
	}
	return result(node, data, file.Fleet)
}

// spent returns the privacy cost of the releases so far in words.
func spent(node *sdk.Node, f *sdk.Fleet) string {
	if f.Privacy.NonPrivate {
		return "NOT PRIVATE"
	}
	return explain.Total(node.Spend(), f.Privacy.Delta, f.Privacy.Accounting)
}

// result returns what the page shows and saves at the end.
func result(node *sdk.Node, data *rows, f *sdk.Fleet) (any, error) {
	x, signed := node.Model(), ""
	model := make([]any, len(x))
	for i, v := range x {
		model[i] = v
	}
	if !f.Privacy.NonPrivate {
		c, err := node.Certificate()
		if err != nil {
			return nil, err
		}
		text, err := c.JSON()
		if err != nil {
			return nil, err
		}
		signed = string(text)
	}
	return map[string]any{"model": model, "right": data.right(x), "rows": len(data.cells), "certificate": signed}, nil
}
