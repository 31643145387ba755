package node

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/verdict"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// Exported is the result of the export command, printed as text or JSON. It describes the file that was written.
type Exported struct {
	Run         string `json:"run"`
	Name        string `json:"name"`
	Round       int    `json:"round"`
	Rounds      int    `json:"rounds"` // of the whole run, with cool-down
	Done        bool   `json:"done"`
	Dim         int    `json:"dim"`
	Format      string `json:"format"`
	File        string `json:"file"`
	SHA256      string `json:"sha256"`       // of the file
	Model       string `json:"model_sha256"` // of the trained parameters as little-endian float32, as run prints it
	Sum         string `json:"sha256_file"`
	Certificate string `json:"certificate,omitempty"` // path of the copy; empty if no certificate covers the model
	NonPrivate  bool   `json:"non_private"`
	// Predicts reports whether the file is a model file that includes the preprocessing, which the predict and evaluate
	// commands need.
	Predicts bool  `json:"predicts"`
	Alone    bool  `json:"alone"` // whether the model is the site's own
	Queries  int64 `json:"-"`     // losses that were asked for. Queries and Losses are for this device only; the exported file has neither
	monitor.Losses
	// Verdict is the verdict in the state folder, if there is one.
	Verdict *verdict.Verdict `json:"verdict,omitempty"`
}

// certificateEnding follows the name of an exported file in that of its certificate.
const certificateEnding = ".certificate.json"

// Export is the command that writes a node's model to a file.
func Export(_ context.Context, c *cli.Cmdline) error {
	to := c.String("out", "", "the `file` to write; its ending selects the format: .json or .npy")
	ownFit := c.Bool("own-fit", false, "with .json: add what a node with \"fit\": \"own\" fits on its own data (means, "+
		"deviations, categories); the privacy guarantee does not cover it")
	accepted := c.Bool("accepted", false, "the model that the verdict accepts here; if that is the site's own, it must stay on this device")
	force := c.Bool("force", false, "overwrite an existing file")
	c.JSONFlag()
	path, err := c.ParseFile()
	if err != nil {
		return err
	}
	format := strings.ToLower(strings.TrimPrefix(filepath.Ext(*to), "."))
	if err := checkExport(*to, format, *ownFit); err != nil {
		return err
	}
	site, err := readSite(path)
	if err != nil {
		return err
	}
	node, file := site.Node, site.Fleet
	kept, err := device.Kept(node, file)
	if err != nil {
		return err
	}
	f, last := file.Fleet, file.Fleet.Method.Last()
	model, alone, v := kept.State.X, false, readVerdict(c.Log, site)
	if *accepted {
		if model, alone, err = acceptedModel(site, v, kept, format); err != nil {
			return err
		}
	}
	r := &Exported{
		Run: f.Run, Name: node.Name, Round: kept.State.Round, Rounds: last, Done: kept.State.Round == last,
		Dim: len(model), Format: format, File: *to, Model: sdk.ModelHash(model), Sum: *to + ".sha256", NonPrivate: f.Privacy.NonPrivate,
		Alone: alone, Verdict: v, Queries: kept.State.Queries,
		Losses: monitor.Losses{FailedQueries: kept.State.Failed, LastFailure: kept.FailureText()},
	}
	warn(c.Log, v, r.Model, path)
	cert, why := r.certificate(node.Certificate(), f)
	if alone {
		cert, why = nil, "the guarantee does not cover the site's own model"
	} else if cert != nil {
		r.Certificate = *to + certificateEnding
	}
	whole := &builtin.Model{
		Run: f.Run, Fleet: f.Hash(), Member: node.Name, Round: kept.State.Round, Rounds: last,
		NonPrivate: f.Privacy.NonPrivate, Alone: alone, Certificate: cert, Weights: model,
	}
	if err := recipeOf(whole, node, file, *ownFit); err != nil {
		return err
	}
	content := cli.AppendFloats(cli.NpyHeader(len(model)), model)
	if format == "json" {
		r.Predicts = whole.Task != nil
		if content, err = whole.Marshal(); err != nil {
			return err
		}
	}
	if err := r.save(path, content, cert, *force); err != nil {
		return err
	}
	return c.Print(r, func(t cli.Table) { r.write(t, whole, why) })
}

// save writes the model, its sum, its certificate and the path of the node file beside each other.
func (r *Exported) save(path string, content, cert []byte, force bool) error {
	from, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	r.SHA256 = fmt.Sprintf("%x", sha256.Sum256(content))
	return cli.WriteAll([]cli.Written{
		{Path: r.File, Content: content, Secret: r.Alone}, {Path: r.Sum, Content: []byte(r.SHA256 + "  " + filepath.Base(r.File) + "\n")},
		{Path: r.File + certificateEnding, Content: cert}, {Path: nodeOf(r.File), Content: []byte(from + "\n")},
	}, force)
}

// acceptedModel returns the model that the verdict v accepts, with kept.State.Round set to its release, and whether it is the
// site's own.
func acceptedModel(site *verdict.Site, v *verdict.Verdict, kept *wire.Snapshot, format string) (model []float32, alone bool, err error) {
	switch {
	case v == nil:
		return nil, false, fmt.Errorf("-accepted: %s has no verdict on this run: the device that runs the node makes one at the end of \"spade-edge run\", if it holds out rows",
			site.Node.State)
	case v.Accepted == "":
		return nil, false, cli.Usage("-accepted: the losses come from a program: %s", v.Text())
	case v.Model != sdk.ModelHash(kept.State.X):
		return nil, false, fmt.Errorf("-accepted: the verdict in %s is on another model than the one in the state: run the node again", site.Node.State)
	}
	model, release, err := site.Model(v, kept.State.Round, kept.State.X)
	if alone = v.Accepted == verdict.Alone; !alone {
		kept.State.Round = release
	} else if format != "json" && err == nil {
		err = cli.Usage("-accepted: the site's own model is accepted, and only an -out file that ends in .json can record that it " +
			"must not leave this machine")
	}
	return model, alone, err
}

func checkExport(to, format string, ownFit bool) error {
	switch {
	case to == "":
		return cli.Usage("-out is missing: give the file to write")
	case format != "json" && format != "npy":
		return cli.Usage("-out is %q, want a name that ends in .json, or in .npy for the numbers alone", to)
	case ownFit && format != "json":
		return cli.Usage("-own-fit needs an -out file that ends in .json: a .npy file has only numbers")
	}
	return nil
}

// write prints the result. If there is no certificate, the parameter why is the reason.
func (r *Exported) write(t cli.Table, whole *builtin.Model, why string) {
	t.Row("model", "%s: %d numbers, %s, sha256 %s", r.File, r.Dim, r.Format, r.SHA256)
	if r.Alone {
		t.Row("alone", "the site's own model, trained without noise on its records: it may reveal them, and must stay on this device")
	}
	t.Row("release", "%d of %d of run %q by %q, model_sha256 %s", r.Round, r.Rounds, r.Run, r.Name, r.Model)
	if !r.Done && (r.Verdict == nil || r.Verdict.AsOf != r.Round) {
		t.Row("not finished", "the run goes on: this is not the final model")
	}
	lossRows(t, r.Queries, &r.Losses)
	switch {
	case r.Predicts:
		t.Row("predict", "spade-edge predict %s -data %s:...", r.File, whole.Task.Source)
	case r.Format != "json":
		t.Row("predict", "not from this file, which has only numbers: export a .json file")
	case whole.NoTask == builtin.OwnFit:
		t.Row("predict", "not from this file: the node fitted the preprocessing on its own data; -own-fit adds it")
	default:
		t.Row("predict", "not from this file: the losses come from a program, which knows what the numbers mean")
	}
	t.Row("certificate", "%s", cmp.Or(r.Certificate, "none: "+why))
}

// recipeOf adds the preprocessing to a model file or, if that is impossible, the reason why the file has none.
func recipeOf(m *builtin.Model, node *fleetfile.Node, file *fleetfile.File, ownFit bool) (err error) {
	b := builtin.Of(node)
	switch {
	case b == nil:
		m.NoTask = builtin.Program
	case !b.FitOwn:
		m.Task, err = builtin.Task(file.Fleet)
	case ownFit:
		m.Task, err = task.Fit(b.Spec, b.Model, "the own data of a member")
	default:
		m.NoTask = builtin.OwnFit
	}
	if ownFit && (b == nil || !b.FitOwn) {
		return cli.Usage(`-own-fit needs "fit": "own" in the node file`)
	}
	return err
}

// certificate returns the text of the node's certificate if it is valid and covers the model. Otherwise it returns nil
// and the reason.
func (r *Exported) certificate(path string, f *sdk.Fleet) (text []byte, why string) {
	if f.Privacy.NonPrivate {
		return nil, "NOT PRIVATE: what the node has sent may reveal its data"
	}
	text, c, err := privacy.CertificateIn(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "the node writes one when it ends"
	}
	if err == nil {
		err = c.Verify()
	}
	switch {
	case err != nil:
		return nil, strings.ReplaceAll(err.Error(), "\n", "; ")
	case c.Run != f.Run || c.Fleet != fmt.Sprintf("%x", f.Hash()) || c.Member != r.Name:
		return nil, path + " is of another run"
	case c.Rounds < f.Method.Data(r.Round):
		return nil, fmt.Sprintf("%s counts %d releases, fewer than are in the model; the node writes it anew when it ends", path, c.Rounds)
	}
	return text, ""
}
