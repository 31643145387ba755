// Command hospital is a study of three hospitals that may not show each other their patients.
//
// Each has a file of patients, with what was found and whether a cardiovascular event followed, and wants a rule that tells who is at
// risk. None can find a good one alone: city treats people who had an event, coast looks after people who had none, and hills is small,
// with two events among its 42 patients. What they need to find one together:
//
//   - a program that scores a rule on a patient: score.py, in whatever language, which stays in the hospital like the file (package sdk/scorer);
//   - an agreement, the same for all: func study;
//   - a node in each hospital, which keeps what it must not forget in a folder: hospital.go;
//   - connections: websockets, with the keys of the others pinned (package transport/ws).
//
// At the end each holds the rule and a certificate of what it has told about its patients, which anyone can verify.
//
//	go run ./examples/hospital
//
// It needs Python 3 for score.py. The three nodes run in this one process, and talk over real connections; between real hospitals
// each would run its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
)

func main() {
	python := flag.String("python", "python3", "the `program` that runs score.py")
	flag.Parse()
	dir, err := os.MkdirTemp("", "hospital")
	if err == nil {
		err = errors.Join(run(context.Background(), os.Stdout, *python, dir), os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hospital:", err)
		os.Exit(1)
	}
}

// weights is how many numbers make a rule: one for each of the five findings that score.py looks at, and a baseline.
const weights = 6

// study is the agreement: who takes part, who talks to whom, for how long, and how private. Nothing in it comes from the patients:
// step and radius were tried out on generated ones.
func study(names ...string) (*sdk.Fleet, error) {
	fleet := &sdk.Fleet{
		Run: "risk of an event, 2026", Dim: weights, Members: names,
		// Six rounds in which the patients are asked, and ten in which the three only agree, at no cost.
		Method: sdk.Method{Rounds: 6, Cooldown: 10, Tau: 2, Rho: 1, Gain: 0.4, Eta: []float64{1.5}, Mu: []float64{0.6}, Estimator: sdk.EstimatorCentered, Seed: 1},
		// What is protected is a hospital as a whole: all its patients at once, not one of them. That is more than is usually meant,
		// and three are few to hide in: hence the large epsilon. Updates are cut to a length of Clip; the noise follows below.
		Privacy: sdk.Privacy{Clip: 0.2, Delta: 1e-5, EpsilonLimit: 32, Accounting: dpmech.GDP},
	}
	for i, a := range names {
		for _, b := range names[i+1:] {
			fleet.Edges = append(fleet.Edges, [2]string{a, b})
		}
	}
	p := &fleet.Privacy
	var err error
	p.Sigma, err = dpmech.SigmaFor(p.Clip, fleet.Method.Rounds, p.EpsilonLimit, p.Delta, dpmech.GDP)
	return fleet, err
}

// run is the life of the study, in a folder with one for each hospital.
func run(ctx context.Context, out io.Writer, python, dir string) (err error) {
	fleet, err := study("city", "coast", "hills")
	if err != nil {
		return err
	}
	var all []*hospital
	for _, name := range fleet.Members {
		h, err := open(name, filepath.Join(dir, name), python)
		if err != nil {
			return err
		}
		all = append(all, h)
	}
	alone, err := trainAlone(ctx, all)
	if err != nil {
		return err
	}

	// Three nodes at work, until each has the final rule. In the middle the power fails in city; its node is started again, with the
	// same folder, and goes on. The others just wait.
	if err := connect(fleet, all); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, disconnect(all)) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	for i, h := range all {
		wg.Go(func() {
			if errs[i] = h.attend(ctx, out, fleet, i == 0); errs[i] != nil {
				cancel() // or the others would wait for it
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return report(ctx, out, fleet, all, alone)
}

// attend runs a hospital's node to its end, or first until the power fails.
func (h *hospital) attend(ctx context.Context, out io.Writer, fleet *sdk.Fleet, failing bool) error {
	if failing {
		const middle = 3
		err := h.takePart(ctx, fleet, middle)
		if !errors.Is(err, errPower) {
			return fmt.Errorf("%s: %v, want the power to fail", h.name, err)
		}
		fmt.Fprintf(out, "the power fails in %s, after release %d of %d\n", h.name, middle, fleet.Method.Rounds)
	}
	return h.takePart(ctx, fleet, 0)
}

// report says what the study has come to: how good the rule is, and what it has cost whom.
func report(ctx context.Context, out io.Writer, fleet *sdk.Fleet, all []*hospital, alone [][]float32) error {
	for i, h := range all {
		// The judge is score.py again, with patients of a hospital that takes no part.
		before, err := h.accuracy(ctx, "unseen.csv", alone[i])
		if err != nil {
			return err
		}
		after, err := h.accuracy(ctx, "unseen.csv", h.rule)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-6s alone is right about %.0f %% of the patients of a fourth hospital, with the two others about %.0f %%\n", h.name, 100*before, 100*after)
	}
	for _, h := range all {
		cert, err := h.verify()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-6s made %d releases, and has a certificate that is right: epsilon %s at delta %v, in the life of its data %s\n",
			h.name, cert.Rounds, dpmech.FormatEpsilon(cert.EpsilonGDP, 1), cert.Delta, dpmech.FormatEpsilon(cert.Lifetime.EpsilonGDP, 1))
		// The ledger outlives the study, and so a second one of the same size is refused before it has begun.
		if err := h.affords(fleet, "the same once more"); !errors.Is(err, dpmech.ErrBudget) {
			return fmt.Errorf("%s: a second study: %v, want it to be refused", h.name, err)
		}
	}
	fmt.Fprintf(out, "a second study of this size is refused by all: their ledgers do not cover it\n\n")

	// What the first of them has told about its patients, on one page.
	cert, err := all[0].verify()
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, strings.TrimRight(cert.Text(), "\n")+"\n")
	return err
}
