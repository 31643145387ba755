//go:build unix

package program

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"

	"github.com/spade-dfl/spade-edge/sdk"
)

// A node file with one fault, or several: a line each, which names the file and the field.
func TestWrongNodeFile(t *testing.T) {
	tr := newTrial(t, "ab", func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5} })
	var all []mistake
	node := func(want string, oldNew ...string) {
		path := tr.variant(t, "a.json", oldNew...)
		for _, command := range []string{"run", "status"} {
			all = append(all, mistake{cli.ExitUsage, want, []string{command, path}})
		}
	}
	field := func(want, field string) { node(want, `"version": 1`, `"version": 1, `+field) }
	oracle := func(want, text string) {
		path := tr.oracle(t, text)
		all = append(all, mistake{cli.ExitUsage, want, []string{"run", path}})
	}
	node(`version is 2, want 1`, `"version": 1`, `"version": 2`)
	node(`version is "1", want 1`, `"version": 1`, `"version": "1"`)
	node("line 1, column 15: invalid character", `"version": 1,`, `"version": 1`)
	node("field version is given twice", `"version": 1`, `"version": 1, "version": 1`)
	node(`unknown field "color"`, `"version": 1`, `"version": 1, "color": 3`)
	node(`name: found number, want a string`, `"name": "a"`, `"name": 7`)
	node(`key is missing, want a path`, `"a.key"`, `""`)
	node("key is missing, want a path", `"key": "a.key",`, "")
	node(`listen is "7443", want host:port`, tr.place(0), "7443")
	node(`listen is "h:99999", want host:port`, tr.place(0), "h:99999")
	node("ledger: found number, want a string", `"a.ledger"`, "3")
	node("resend_seconds is 0, want a number of seconds", `"resend_seconds": 0.05`, `"resend_seconds": 0`)
	field("linger_seconds is -1, want a number of seconds", `"linger_seconds": -1`)
	field(`http is "0.0.0.0:80", want host:port on loopback`, `"http": "0.0.0.0:80"`)
	field(`table is "round", want dense or seeded`, `"table": "round"`)
	field("average: found number, want true or false", `"average": 1`)
	node("name is\nstate is missing\nlinger_seconds is", `"name": "a"`, `"name": ""`, `"state": "a.state",`, "", `"version": 1`, `"version": 1, "linger_seconds": 0`)
	oracle("oracle is 3, want an object", "3")
	oracle("oracle has [], want exactly one of the kinds that this program has: builtin, stream", "{}")
	oracle(`oracle has ["builtin" "stream"], want exactly one`, `{"stream": ["a"], "builtin": {}}`)
	oracle("oracle.stream: Command is []", `{"stream": []}`)
	oracle("oracle: stream: found number, want a string", `{"stream": ["a", 3]}`)
	oracle("oracle.workers is 0, want a whole number, 1..1024", `{"stream": ["a"], "workers": 0}`)
	oracle(`oracle.stream: Format is "xml", want`, `{"stream": ["a"], "format": "xml"}`)
	oracle(`oracle: unknown field "samples"`, `{"stream": ["a"], "samples": 5}`)
	oracle("oracle.timeout_seconds is 0, want a number of seconds", `{"stream": ["a"], "timeout_seconds": 0}`)
	oracle("oracle.builtin.data is missing", `{"builtin": {}}`)
	oracle(`oracle.builtin: data "csv:" names nothing`, `{"builtin": {"data": "csv:"}}`)
	oracle("oracle.builtin has a model or preprocessing, want only data", `{"builtin": {"data": "csv:x", "label": "y"}}`)
	oracle(`oracle.builtin: model "tree", want softmax or perceptron`, `{"builtin": {"fit": "own", "data": "csv:x", "label": "y", "model": "tree"}}`)
	oracle("oracle.builtin: perceptron of 0 hidden units, want", `{"builtin": {"fit": "own", "data": "csv:x", "label": "y", "model": "perceptron", "hidden": 0}}`)
	oracle("oracle.builtin.test_fraction is 1, want", `{"builtin": {"data": "csv:x", "test_fraction": 1}}`)
	oracle("oracle.builtin.share.number is 2, want a whole number, 0..1", `{"builtin": {"data": "csv:x", "share": {"partition": "iid", "of": 2, "number": 2}}}`)
	oracle(`partition "fair"`, `{"builtin": {"data": "csv:x", "share": {"partition": "fair", "of": 2, "number": 1}}}`)
	wrongUse(t, tr.dir, all)
}

// The same of a fleet file, met by fleet and, through a node file, by run.
func TestWrongFleetFile(t *testing.T) {
	tr := newTrial(t, "ab", func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5} })
	var all []mistake
	fleet := func(want string, oldNew ...string) {
		path := tr.variant(t, "fleet.json", oldNew...)
		all = append(all, mistake{cli.ExitUsage, want, []string{"fleet", "move", path, "-name", "a", "-address", "x:1"}})
		all = append(all, mistake{cli.ExitUsage, want, []string{"run", tr.variant(t, "a.json", "fleet.json", path[len(tr.dir)+1:])}})
	}
	fleet("version is 3, want 1", `"version": 1`, `"version": 3`)
	fleet(`run is "", want 1..64 bytes`, `"trial"`, `""`)
	fleet("dim is 0, want a whole number", `"dim": 6`, `"dim": 0`)
	fleet("x0.file: want 7 numbers of four bytes", `"dim": 6`, `"dim": 7`)
	fleet(`x0.file is "../x0.bin", want the name of a file in the folder of this one`, `"x0.bin"`, `"../x0.bin"`)
	fleet("method.tau is -2, want a whole number", `"tau": 2`, `"tau": -2`)
	fleet("method.rounds: found number 6.5, want a whole number", `"rounds": 6`, `"rounds": 6.5`)
	fleet("method.gain is 1, want more than 0 and less than 1", `"gain": 0.75`, `"gain": 1`)
	fleet("method.rho is 0, want 1e-9..1e9", `"rho": 1`, `"rho": 0`)
	fleet(`estimator "best", want paper, centered or tracking`, `"centered"`, `"best"`)
	fleet("method.eta is a list of 6 values, want one number, or one for each of 7 rounds", `"rounds": 6`, `"rounds": 7`)
	fleet("method.batch is -1, want a whole number", `"batch": 8`, `"batch": -1`)
	fleet("privacy.clip is 0, want 1e-30..1e30", `"clip": 0.2`, `"clip": 0`)
	fleet("privacy.delta is 1, want more than 0 and less than 1", `"delta": 0.00001`, `"delta": 1`)
	fleet("privacy.sigma is 0, want more than 0", `"sigma": 1,`, "")
	fleet("privacy.epsilon_limit is -1, want", `"sigma": 1,`, `"sigma": 1, "epsilon_limit": -1,`)
	fleet(`accounting "moments", want gdp, zcdp or paper`, `"accounting": "gdp"`, `"accounting": "moments"`)
	fleet("members[1] is \"a\", want another name than members[0] has\nedges[0][1] is", `"name": "b"`, `"name": "a"`)
	fleet("members[0].keys[0]: transport: public key", `"ed25519:`, `"rsa:`)
	fleet("members[0].addresses[0]: address", "wss://", "https://")
	fleet("edges: graph: edge 0: found (0, 0), a self loop", `["a", "b"]`, `["a", "a"]`)
	fleet(`edges[0][1] is "z", want the name of a member`, `["a", "b"]`, `["a", "z"]`)
	fleet("method.tau is 0\nmethod.rho is\nprivacy.clip is", `"tau": 2`, `"tau": 0`, `"rho": 1`, `"rho": -1`, `"clip": 0.2`, `"clip": -1`)
	wrongUse(t, tr.dir, all)
}

// Ledgers, certificates, tasks, data, and files that are to be written.
func TestWrongOtherFiles(t *testing.T) {
	b := newBench(t)
	b.done(t)
	tr, node := b.lone, b.lone.path("a.json")
	cert, book := "a.state/certificate.json", "a.ledger"
	put := func(name, text string) string {
		tr.write(t, name, text)
		return name
	}
	ledger := func(name string, oldNew ...string) string {
		put(name+".mark", readFile(t, tr.path(book+".mark")))
		return put(name, strings.NewReplacer(oldNew...).Replace(readFile(t, tr.path(book))))
	}
	certificate := func(oldNew ...string) string {
		return tr.variant(t, cert, oldNew...)
	}
	if code, _, log := call("fit", "-data", "synthetic:clinical", "-fitted-on", "x", "-out", tr.path("task.json")); code != cli.ExitDone {
		t.Fatal(log)
	}
	task := func(want string, oldNew ...string) mistake {
		return mistake{cli.ExitUsage, want, []string{"init", "new", "-n", "2", "-task", tr.variant(t, "task.json", oldNew...), "-data", "synthetic:clinical"}}
	}
	data := func(name, text string) []string {
		return []string{"simulate", "-data", "csv:" + put(name, text), "-label", "label"}
	}
	ledgers := func(args ...string) []string { return append([]string{"privacy"}, args...) }
	for _, name := range []string{"folder", "m.npy.sha256"} {
		if err := os.Mkdir(tr.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere", tr.path("dangling")); err != nil {
		t.Fatal(err)
	}
	long := t.TempDir() // by itself, as everything around a mistake is looked at before and after it
	if err := errors.Join(os.WriteFile(filepath.Join(long, "long"), nil, 0o600), os.Truncate(filepath.Join(long, "long"), privacy.MaxForeign+1)); err != nil {
		t.Fatal(err)
	}
	wrongUse(t, long, []mistake{
		{cli.ExitFailed, "a file of 67108865 bytes, want at most 67108864", ledgers("-verify", "long")},
		{cli.ExitUsage, "want at most 67108864", []string{"init", "new", "-members", "long", "-data", "synthetic:clinical"}},
	})
	wrongUse(t, tr.dir, []mistake{
		{cli.ExitFailed, "is a special file", ledgers("-verify", os.DevNull)},
		{cli.ExitUsage, "is a special file", []string{"init", "new", "-members", os.DevNull, "-data", "synthetic:clinical"}},
		{cli.ExitFailed, "line 1", ledgers("-ledger", ledger("version.ledger", `"version":1`, `"version":2`))},
		{cli.ExitFailed, "the line before was changed", ledgers("-ledger", ledger("round.ledger", `"round":2`, `"round":9`))},
		{cli.ExitFailed, "line 1", ledgers("-ledger", put("text.ledger", "hello\n"))},
		{cli.ExitUsage, "folder is a folder, want a ledger", ledgers("-ledger", "folder")},
		{cli.ExitFailed, "a ledger is never overwritten", ledgers("-new-ledger", book, "-dataset", "x")},
		{cli.ExitFailed, "never overwritten", ledgers("-new-ledger", "folder", "-dataset", "x")},
		{cli.ExitFailed, "no such file", ledgers("-new-ledger", "none/x", "-dataset", "x")},
		{cli.ExitUsage, "folder is a folder, want a certificate", ledgers("-verify", "folder")},
		{cli.ExitFailed, "unknown field", ledgers("-verify", certificate(`"unit"`, `"units"`))},
		{cli.ExitFailed, "is not right:\nversion: is 9, want 2", ledgers("-verify", certificate(`"version": 2`, `"version": 9`))},
		{cli.ExitUsage, "found array, want an object", ledgers("-verify", cert, "-fleet", put("no.fleet", "[]"))},
		{cli.ExitUsage, "no such file", ledgers("-verify", cert, "-fleet", "none.json")},
		task("fitted_on is \"\"", `"fitted_on": "x",`, ""),
		task(`source is "web", want csv, idx or synthetic`, `"source": "synthetic"`, `"source": "web"`),
		task(`model "tree", want softmax or perceptron`, `"softmax"`, `"tree"`),
		task(`unknown field "color"`, `"source"`, `"color": 1, "source"`),
		task("line 3, column", `"fitted_on": "x",`, `"fitted_on": "x"`),
		{cli.ExitFailed, "is empty, want a header line", data("empty.csv", "")},
		{cli.ExitFailed, "no rows below the header", data("header.csv", "x,label\n")},
		{cli.ExitFailed, "columns 1 and 2 are both called", data("twice.csv", "x,x,label\n1,2,a\n3,4,b\n")},
		{cli.ExitFailed, "line 3", data("ragged.csv", "x,label\n1,a\n2\n")},
		{cli.ExitFailed, "", data("one.csv", "x,label\n"+strings.Repeat("1,a\n", 20))},
		{cli.ExitFailed, `-label "label": wrong.csv has no such column` + "\nthe columns of wrong.csv are", data("wrong.csv", "x,y\n1,2\n")},
		{cli.ExitFailed, "is a folder, want a file", []string{"simulate", "-data", "csv:folder", "-label", "x"}},
		{cli.ExitUsage, "m.json is there already: -force", []string{"export", node, "-out", put("m.json", "{}")}},
		{cli.ExitUsage, "m.npy.sha256 is a folder, want a name for a file", []string{"export", node, "-out", "m.npy", "-force"}},
		{cli.ExitFailed, "no such file", []string{"export", node, "-out", "none/x.npy"}},
		{cli.ExitUsage, "want a name that ends with .json", []string{"export", node, "-out", "model.txt"}},
		{cli.ExitUsage, "-averaged: this node does not keep the mean", []string{"export", node, "-out", "mean.npy", "-averaged"}},
		{cli.ExitFailed, "already exists", []string{"fit", "-data", "synthetic:clinical", "-fitted-on", "x", "-out", "task.json"}},
		{cli.ExitFailed, "already exists", []string{"fit", "-data", "synthetic:clinical", "-fitted-on", "x", "-out", "dangling"}},
		{cli.ExitFailed, "no such file", []string{"fit", "-data", "synthetic:clinical", "-fitted-on", "x", "-out", "none/task.json"}},
		{cli.ExitFailed, "a.key", []string{"keygen", "-name", "a", "-out", "a.key"}},
		{cli.ExitFailed, "no such file", []string{"keygen", "-name", "a", "-out", "none/a.key"}},
		{cli.ExitUsage, `-address: "ward-3", want host:port`, []string{"keygen", "-name", "a", "-address", "ward-3"}},
		{cli.ExitUsage, "-address: address", []string{"keygen", "-name", "a", "-address", "http://h:1/"}},
		{cli.ExitUsage, "port is 70000", []string{"keygen", "-name", "a", "-address", "h:70000"}},
		{cli.ExitUsage, `unexpected argument "x"`, []string{"version", "x"}},
		{cli.ExitUsage, `no topic "flet"; there are`, []string{"help", "flet"}},
		{cli.ExitUsage, "no file given, want spade-edge check NODEFILE", []string{"check"}},
		{cli.ExitUsage, `unexpected argument "b"`, []string{"check", "a", "b"}},
		{cli.ExitUsage, "-timeout is 0s, want more than 0", []string{"check", "a", "-timeout", "0s"}},
		{cli.ExitUsage, "not defined: -fast", []string{"check", "a", "-fast"}},
	})
}
