package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestExplore(t *testing.T) {
	tr, err := newTrial("", 100, 20_000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range strings.Split(os.Getenv("CFG"), ";") {
		var spec, priv string
		w := way{}
		fmt.Sscanf(cfg, "%s %s %f %f %d", &spec, &priv, &w.step, &w.mu, &w.rounds)
		w.spec = biases()
		if spec == "random" {
			w.spec = subspace()
		}
		p := map[string]string{"open": open, "record": record, "client": client}[priv]
		f, err := w.fleet(p, 100)
		if err != nil {
			t.Fatal(err)
		}
		o, err := w.train(p, tr.base, tr.own, tr.held)
		fmt.Println(cfg, o, err, f.Method.Tau, f.Method.Eta, f.Privacy.Clip, f.Privacy.Sigma)
	}
}
