package main

import (
	"cmp"
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
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/transport/ws"
	"github.com/spade-dfl/spade-edge/zoest"
)

// The variable before holds the files that exist before the study: the scoring program and the patient data.
//
//go:embed score.py data
var before embed.FS

// hospital is a member of the study. The files in its folder dir never leave the hospital. At first, the folder
// contains patients.csv and score.py. The study adds
//
//	ledger.json        the privacy budget of its patients' data over all studies; never deleted
//	state/             the state of its node in this study
//	certificate.json   a bound on the privacy cost, written at the end of the study
type hospital struct {
	name, dir string
	python    string
	key       ed25519.PrivateKey // a real device keeps its key in a file, see sdk/fleetfile
	keys      func(member string) []ed25519.PublicKey
	link      *ws.Transport
	alone     []float32 // the rule that the hospital finds by itself
	rule      []float32 // the result of the study; nil before its end
}

func (h *hospital) path(name string) string { return filepath.Join(h.dir, name) }

// open fills a hospital's folder and creates its ledger. By creating the ledger, the hospital declares that its data
// was never used before, and limits how much the data may reveal over all studies.
func open(name, dir, python string) (*hospital, error) {
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
	limit := &dpmech.Limit{Epsilon: 1.25, Delta: 1e-5, Accounting: dpmech.GDP}
	ledger, err := state.CreateLedger(h.path("ledger.json"), "patients of "+name, dpmech.Record, limit, state.NeverUsed)
	if err != nil {
		return nil, err
	}
	_, h.key, err = ed25519.GenerateKey(nil)
	return h, errors.Join(err, ledger.Close())
}

// connect connects all hospitals. They have already exchanged their public keys over a trusted channel. Each hospital
// dials the hospitals after it in the list. No hospital dials city, the first in the list, so city needs no open port.
func connect(fleet *sdk.Fleet, all []*hospital) error {
	file := &fleetfile.File{Fleet: fleet}
	for _, h := range all {
		keys := []ed25519.PublicKey{h.key.Public().(ed25519.PublicKey)}
		file.Members = append(file.Members, fleetfile.Member{Name: h.name, Keys: keys})
	}
	for i, h := range slices.Backward(all) {
		listen := "127.0.0.1:0"
		if i == 0 {
			listen = ""
		}
		var err error
		h.keys = file.SigningKeys
		link := ws.ConfigOf(file, h.name, h.key, listen)
		link.Logger = slog.New(slog.DiscardHandler) // all hospitals are in this process
		if h.link, err = ws.New(link); err != nil {
			return err
		}
		if i > 0 {
			file.Members[i].Addresses = []string{h.link.Addr()}
		}
	}
	return nil
}

var errPower = errors.New("the power has failed")

// run runs the hospital's node until the study ends. If failing is positive, the power fails at the release with this
// number; the next call of run continues from that release, because the node stores all it needs before it sends
// anything.
func (h *hospital) run(ctx context.Context, fleet *sdk.Fleet, failing int) (err error) {
	patients, err := h.score(ctx, "patients.csv")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, patients.Close()) }()
	ledger, err := state.OpenLedger(h.path("ledger.json"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	store, err := state.Open(h.path("state"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	node, err := sdk.New(sdk.Config{
		Fleet: fleet, Name: h.name, Key: h.key, Keys: h.keys, Samples: patients.Samples(), Oracle: patients,
		Transport: h.link, Store: store, Ledger: ledger,
		ConditionalOn: []string{"what is usual in such patients, from the literature"},
		Events: sdk.Events{Released: func(round int, _ []float32) {
			if round == failing {
				cancel(errPower)
			}
		}},
	})
	if err != nil {
		return err
	}
	if err := node.Run(ctx); err != nil {
		return fmt.Errorf("%s: %w", h.name, cmp.Or(context.Cause(ctx), err))
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
	return os.WriteFile(h.path("certificate.json"), text, 0o600)
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
	text, err := os.ReadFile(h.path("certificate.json"))
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
