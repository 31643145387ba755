// Command hospital runs a study of three hospitals that must not show their patients' data to each other.
//
// Each hospital wants a rule that predicts the risk of a cardiovascular event. No hospital can find a good rule alone:
// city treats only patients who had an event, coast treats only patients who had none, and hills is small. To find a
// rule together, they need
//
//   - a program that scores a rule on a patient: score.py, in any language (package sdk/scorer);
//   - an agreement that is the same for all hospitals: func study;
//   - a node in each hospital, which keeps its state in a folder, and accepts only the known keys of the other hospitals
//     over websockets: hospital.go (package sdk/edge).
//
// At the end, each hospital holds the rule, and a certificate with an upper bound on what the hospital revealed about
// its patients. Anyone can verify the certificate.
//
//	go run ./examples/hospital
//
// The program needs Python 3. The three nodes run in one process, but over real connections.
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
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
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

// weights is the number of weights of a rule: one for each of the five findings that score.py reads, and a baseline.
const weights = 6

// size maps each hospital to its number of patients. These numbers are public and part of the agreement.
var size = map[string]int{"city": 100, "coast": 100, "hills": 42}

// protected is the privacy setting of the study. It protects every single patient, even if all other hospitals collude,
// but not the data of a hospital as a whole.
var protected = sdk.Privacy{Unit: dpmech.Record, EpsilonLimit: 1, Delta: 1e-5, Accounting: dpmech.GDP}

// study returns the agreement: members, graph, duration and privacy. The agreement does not depend on any patient's
// data, because all settings follow from the number of weights, the numbers of patients and epsilon.
func study(privacy sdk.Privacy, names ...string) (*sdk.Fleet, error) {
	fleet := &sdk.Fleet{Run: "risk-2026", Dim: weights, Members: names}
	var patients []int
	for i, a := range names {
		patients = append(patients, size[a])
		for _, b := range names[i+1:] {
			fleet.Edges = append(fleet.Edges, [2]string{a, b})
		}
	}
	if !privacy.NonPrivate {
		fleet.Records = patients
	}
	var err error
	fleet.Method, fleet.Privacy, err = plan.Suggest(plan.Known{
		Dim: weights, Samples: patients, Open: true, Privacy: privacy, Method: sdk.Method{Seed: 1},
	})
	return fleet, err
}

// run carries out the study. It creates a folder for each hospital in dir.
func run(ctx context.Context, out io.Writer, python, dir string) (err error) {
	fleet, err := study(protected, "city", "coast", "hills")
	if err != nil {
		return err
	}
	var all []*hospital
	defer func() {
		for _, h := range all {
			err = errors.Join(err, h.close())
		}
	}()
	for _, name := range fleet.Members {
		h, err := newHospital(name, filepath.Join(dir, name), python)
		if err != nil {
			return err
		}
		if err := h.trainAlone(ctx); err != nil {
			return fmt.Errorf("%s alone: %w", name, err)
		}
		all = append(all, h)
	}
	if err := connect(ctx, fleet, all); err != nil {
		return err
	}
	if err := trainTogether(ctx, all); err != nil {
		return err
	}
	return report(ctx, out, fleet, all)
}

// trainTogether runs the three nodes until each has the final rule.
func trainTogether(ctx context.Context, all []*hospital) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	for i, h := range all {
		wg.Go(func() {
			if errs[i] = h.node.Run(ctx); errs[i] != nil {
				cancel() // otherwise the other nodes would wait for the failed node
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// report prints the accuracy of the common rule, the accuracy of each hospital's own rule, and the privacy cost.
func report(ctx context.Context, out io.Writer, fleet *sdk.Fleet, all []*hospital) error {
	for _, h := range all {
		before, err := h.accuracy(ctx, h.alone)
		if err != nil {
			return err
		}
		after, err := h.accuracy(ctx, h.node.Model())
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-6s alone is right about %.0f %% of the patients of a fourth hospital, ", h.name, 100*before)
		fmt.Fprintf(out, "with the two others about %.0f %%\n", 100*after)
	}
	var first *certificate.Certificate
	for _, h := range all {
		cert, err := h.verify(fleet)
		if err != nil {
			return err
		}
		if first == nil {
			first = cert
		}
		study, lifetime := dpmech.FormatEpsilon(cert.EpsilonGDP, 1), dpmech.FormatEpsilon(cert.Lifetime.EpsilonGDP, 1)
		fmt.Fprintf(out, "%-6s made %d releases, and its certificate verifies: ", h.name, cert.Rounds)
		fmt.Fprintf(out, "epsilon %s at delta %v, in all runs on its data %s\n", study, cert.Delta, lifetime)
	}
	fmt.Fprintf(out, "a second study of this size is refused by all: their ledgers do not cover it\n\n")
	_, err := io.WriteString(out, strings.TrimRight(explain.Certificate(first), "\n")+"\n") // the first hospital's privacy, on one page
	return err
}
