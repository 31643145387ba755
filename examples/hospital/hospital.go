package main

import (
	"context"
	"crypto/ed25519"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// What is in the hospitals before the study: their scoring program, and their patients.
//
//go:embed score.py data
var before embed.FS

// hospital is one member of the study, with all that stays in the house: in its folder dir are patients.csv and
// score.py, and soon
//
//	ledger.json        what its patients' data have given away in their life, in all studies; never deleted
//	state/             what its node must remember in this study, see sdk.DirStore
//	certificate.json   the end of it
type hospital struct {
	name, dir string
	python    string
	key       ed25519.PrivateKey // never leaves the house; on a device it is in a file, see sdk/fleetfile
	link      *ws.Transport
	rule      []float32 // what the study has found; nil before
}

// open furnishes a hospital, and makes the ledger. To make a ledger is a decision of people: it says that these data
// were never used before, and how much they may give away until they are deleted.
func open(name, dir, python string) (*hospital, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for to, from := range map[string]string{
		"score.py": "score.py", "patients.csv": "data/" + name + ".csv", "unseen.csv": "data/unseen.csv",
	} {
		text, err := before.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	ledger, err := dpmech.CreateLedger(filepath.Join(dir, "ledger.json"), "patients of "+name,
		&dpmech.Limit{Epsilon: 40, Delta: 1e-5, Accounting: dpmech.GDP})
	if err != nil {
		return nil, err
	}
	return &hospital{name: name, dir: dir, python: python, key: key}, ledger.Close()
}

// connect opens the connections of all hospitals. Who has which key is told once, by a way that people trust. Of two
// members the one whose name sorts lower dials: city calls the others, and needs no open port.
func connect(fleet *sdk.Fleet, all []*hospital) error {
	for i, h := range all {
		cfg := ws.Config{Name: h.name, Key: h.key, Hello: fleet.Hello(h.name), CheckHello: fleet.CheckHello(h.name)}
		if i > 0 {
			cfg.Listen = "127.0.0.1:0"
		}
		for _, peer := range all {
			if peer != h {
				key := peer.key.Public().(ed25519.PublicKey)
				cfg.Peers = append(cfg.Peers, ws.Peer{Name: peer.name, Keys: []ed25519.PublicKey{key}})
			}
		}
		var err error
		if h.link, err = ws.New(cfg); err != nil {
			return errors.Join(err, disconnect(all))
		}
	}
	for i, h := range all {
		for _, peer := range all[i+1:] {
			if err := h.link.SetAddresses(peer.name, peer.link.Addr()); err != nil {
				return errors.Join(err, disconnect(all))
			}
		}
	}
	return nil
}

func disconnect(all []*hospital) error {
	var errs []error
	for _, h := range all {
		if h.link != nil {
			errs = append(errs, h.link.Close())
		}
	}
	return errors.Join(errs...)
}

// errPower is why a node stops in the middle of the study.
var errPower = errors.New("the power has failed")

// takePart runs the hospital's node until the study is over, or until its release number failing. Called again, it goes
// on from there: what matters is in the folder, and is there before anything leaves the house.
func (h *hospital) takePart(ctx context.Context, fleet *sdk.Fleet, failing int) (err error) {
	patients, err := h.score(ctx, "patients.csv")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, patients.Close()) }()
	ledger, err := dpmech.OpenLedger(filepath.Join(h.dir, "ledger.json"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	store, err := sdk.OpenDir(filepath.Join(h.dir, "state"), fleet.StateSize(h.name, patients.Samples()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	node, err := sdk.New(sdk.Config{
		Fleet: fleet, Name: h.name, Samples: patients.Samples(), Oracle: patients,
		Transport: h.link, Store: store, Ledger: ledger,
		ConditionalOn: []string{
			"what is usual in such patients, from the literature", "step size and radius, tried out on generated patients",
		},
		Observer: sdk.Observer{Released: func(round int, _ []float32) {
			if round == failing {
				cut(errPower)
			}
		}},
	})
	if err != nil {
		return err
	}
	if err := node.Run(ctx); err != nil {
		if errors.Is(context.Cause(ctx), errPower) {
			return errPower
		}
		return fmt.Errorf("%s: %w", h.name, err)
	}
	h.rule = node.Model()
	certificate, err := node.Certificate()
	if err != nil {
		return err
	}
	text, err := certificate.JSON()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(h.dir, "certificate.json"), text, 0o600)
}

// score starts score.py on a file of patients: an oracle, which a node can learn from.
func (h *hospital) score(ctx context.Context, patients string) (*scorer.Stream, error) {
	program := scorer.Program{Command: []string{h.python, "score.py", patients}, Dir: h.dir}
	return scorer.OpenStream(ctx, scorer.StreamConfig{Program: program})
}

// accuracy returns the share of the patients about whom a rule is right: it gives more than even odds to what happened.
func (h *hospital) accuracy(ctx context.Context, patients string, rule []float32) (_ float64, err error) {
	judge, err := h.score(ctx, patients)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, judge.Close()) }()
	queries, losses := make([]sdk.Query, judge.Samples()), make([]float64, judge.Samples())
	for i := range queries {
		queries[i] = sdk.Query{Point: rule, Sample: i}
	}
	if err := judge.Losses(ctx, queries, losses); err != nil {
		return 0, err
	}
	right := 0
	for _, loss := range losses {
		if loss < 0.25 {
			right++
		}
	}
	return float64(right) / float64(len(losses)), nil
}

// verify reads the certificate as a stranger would, computes every number in it again, and compares it with the ledger,
// which a stranger cannot see.
func (h *hospital) verify() (*dpmech.Certificate, error) {
	text, err := os.ReadFile(filepath.Join(h.dir, "certificate.json"))
	if err != nil {
		return nil, err
	}
	certificate, err := dpmech.ParseCertificate(text)
	if err != nil {
		return nil, err
	}
	ledger, err := dpmech.ReadLedger(filepath.Join(h.dir, "ledger.json"))
	if err != nil {
		return nil, err
	}
	return certificate, errors.Join(certificate.VerifyWith(ledger), ledger.Close())
}

// affords says whether the hospital's ledger covers another study with the parameters of this one.
func (h *hospital) affords(fleet *sdk.Fleet, run string) error {
	ledger, err := dpmech.ReadLedger(filepath.Join(h.dir, "ledger.json"))
	if err != nil {
		return err
	}
	noise := dpmech.Gaussian{Clip: fleet.Privacy.Clip, Sigma: fleet.Privacy.Sigma}
	return errors.Join(ledger.Covers(run, fleet.Hash(), h.name, fleet.Method.Rounds, noise), ledger.Close())
}

// trainAlone returns the rule that each hospital finds without the others. Nothing leaves the house, so there is no
// noise.
func trainAlone(ctx context.Context, all []*hospital) ([][]float32, error) {
	rules := make([][]float32, len(all))
	for i, h := range all {
		fleet, err := study(h.name)
		if err != nil {
			return nil, err
		}
		fleet.Privacy = sdk.Privacy{NonPrivate: true}
		link, err := mem.New(h.name).Node(h.name)
		if err != nil {
			return nil, err
		}
		patients, err := h.score(ctx, "patients.csv")
		if err != nil {
			return nil, err
		}
		node, err := sdk.New(sdk.Config{
			Fleet: fleet, Name: h.name, Samples: patients.Samples(), Oracle: patients, Transport: link,
		})
		if err == nil {
			err = node.Run(ctx)
		}
		if err := errors.Join(err, patients.Close(), link.Close()); err != nil {
			return nil, fmt.Errorf("%s alone: %w", h.name, err)
		}
		rules[i] = node.Model()
	}
	return rules, nil
}
