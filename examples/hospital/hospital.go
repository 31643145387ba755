package main

import (
	"context"
	"crypto/ed25519"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/edge"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/zoest"
)

// The variable before holds the files that exist before the study: the scoring program and the patient data.
//
//go:embed score.py data
var before embed.FS

// hospital is a member of the study. The files in its folder dir never leave the hospital. At first, the folder
// contains patients.csv and score.py. Package edge adds the files of its node: among others
//
//	node.key                    its secret key
//	ledger.json                 the privacy budget of its patients' data over all studies; never deleted
//	state-risk-2026/            the state of its node in this study
//	certificate-risk-2026.json  a bound on the privacy cost, written at the end of the study
type hospital struct {
	name, dir string
	python    string
	patients  *scorer.Oracle
	node      *edge.Node
	alone     []float32 // the rule that the hospital finds by itself
}

func (h *hospital) path(name string) string { return filepath.Join(h.dir, name) }

// newHospital fills a hospital's folder.
func newHospital(name, dir, python string) (*hospital, error) {
	h := &hospital{name: name, dir: dir, python: python}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for to, from := range map[string]string{
		"score.py": "score.py", "patients.csv": "data/" + name + ".csv", "unseen.csv": "data/unseen.csv",
	} {
		text, err := before.ReadFile(from)
		if err == nil {
			err = os.WriteFile(h.path(to), text, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	return h, nil
}

// connect opens the nodes of all hospitals. They exchange their public keys over a trusted channel before. Each hospital
// dials the hospitals after it in the list. No hospital dials city, the first in the list, so city needs no open port.
func connect(ctx context.Context, fleet *sdk.Fleet, all []*hospital) error {
	file := &fleetfile.File{Fleet: fleet}
	for _, h := range all {
		key, _, err := edge.Identity(h.dir, h.name)
		if err != nil {
			return err
		}
		file.Members = append(file.Members, fleetfile.Member{Name: h.name, Keys: []ed25519.PublicKey{key}})
	}
	for i, h := range slices.Backward(all[1:]) {
		if err := h.open(ctx, file, "127.0.0.1:0"); err != nil {
			return err
		}
		file.Members[i+1].Addresses = []string{h.node.Addr()}
	}
	return all[0].open(ctx, file, "")
}

// open opens the hospital's node. The first time, this makes its ledger: the hospital declares that its data was never
// used before, and limits how much the data may reveal over all studies.
func (h *hospital) open(ctx context.Context, file *fleetfile.File, listen string) (err error) {
	if h.patients, err = h.score(ctx, "patients.csv"); err != nil {
		return err
	}
	h.node, err = edge.Open(h.dir, file, h.name, h.patients, edge.Options{
		Samples: h.patients.Samples(), Listen: listen, Logger: slog.New(slog.DiscardHandler), // all hospitals are in this process
		Dataset: "patients of " + h.name, Declared: state.NeverUsed, Limit: &dpmech.Limit{Epsilon: 1.25, Delta: 1e-5, Accounting: dpmech.GDP},
		Configure: func(c *sdk.Config) { c.ConditionalOn = []string{"what is usual in such patients, from the literature"} },
	})
	return err
}

func (h *hospital) close() (err error) {
	if h.node != nil {
		err = h.node.Close()
	}
	if h.patients != nil {
		err = errors.Join(err, h.patients.Close())
	}
	return err
}

// score starts score.py on a file of patients and returns an oracle for a node.
func (h *hospital) score(ctx context.Context, patients string) (*scorer.Oracle, error) {
	program := scorer.Program{Command: []string{h.python, "score.py", patients}, Dir: h.dir}
	return scorer.OpenStream(ctx, scorer.StreamConfig{Program: program})
}

// accuracy evaluates the rule on the patients of a hospital outside the study. It returns the share of patients for
// whom the rule gives the true outcome a probability above one half.
func (h *hospital) accuracy(ctx context.Context, rule []float32) (_ float64, err error) {
	unseen, err := h.score(ctx, "unseen.csv")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unseen.Close()) }()
	queries, losses := make([]zoest.Query, unseen.Samples()), make([]float64, unseen.Samples())
	for i := range queries {
		queries[i] = zoest.Query{Point: rule, Sample: i}
	}
	err = unseen.Losses(ctx, queries, losses)
	right := 0
	for _, loss := range losses {
		if loss < 0.25 {
			right++
		}
	}
	return float64(right) / float64(len(losses)), err
}

// verify recomputes every number in the certificate and compares the certificate with the ledger, which only the
// hospital can read. It also checks that the ledger refuses a second study of the same size.
func (h *hospital) verify(fleet *sdk.Fleet) (*certificate.Certificate, error) {
	text, err := os.ReadFile(h.path("certificate-risk-2026.json"))
	if err != nil {
		return nil, err
	}
	certificate, err := certificate.Parse(text)
	if err != nil {
		return nil, err
	}
	ledger, err := state.ReadLedger(h.path("ledger.json"))
	if err != nil {
		return nil, err
	}
	noise := dpmech.Gaussian{Clip: fleet.Privacy.Clip, Sigma: fleet.Privacy.Sigma}
	again := certificate.RunID
	again.Run = "the same once more"
	second := ledger.Covers(again, fleet.Method.Rounds, noise)
	err = errors.Join(ledger.Verify(certificate), ledger.Close())
	if err == nil && !errors.Is(second, dpmech.ErrBudget) {
		err = fmt.Errorf("%s: the ledger did not refuse the second study: error is %v, want dpmech.ErrBudget", h.name, second)
	}
	return certificate, err
}

// trainAlone finds the rule h.alone. It adds no noise, because the hospital sends nothing.
func (h *hospital) trainAlone(ctx context.Context) (err error) {
	fleet, err := study(sdk.Privacy{NonPrivate: true}, h.name)
	if err != nil {
		return err
	}
	fleet.Method.Rounds = 20 // with more, the rule is no better
	link, err := mem.New(h.name).Node(h.name)
	if err != nil {
		return err
	}
	patients, err := h.score(ctx, "patients.csv")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, patients.Close(), link.Close()) }()
	node, err := sdk.New(sdk.Config{Fleet: fleet, Name: h.name, Samples: patients.Samples(), Oracle: patients, Transport: link})
	if err != nil {
		return err
	}
	err = node.Run(ctx)
	h.alone = node.Model()
	return err
}
