//go:build unix

package program

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// book makes a ledger among the files of the private trial.
func (b *bench) book(t *testing.T, name string, limit *dpmech.Limit) *state.Ledger {
	t.Helper()
	b.private.remove(t, name, name+".mark")
	l, err := state.CreateLedger(b.private.path(name), "patients", limit)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (b *bench) used(t *testing.T, name string) string {
	t.Helper()
	l := b.book(t, name, nil)
	for round := 1; round <= 2; round++ {
		if err := l.Reserve("run", [32]byte{1}, "a", round, dpmech.Gaussian{Clip: 1, Sigma: 8}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.Mark("run", [32]byte{1}, "a", 2), l.Close()); err != nil {
		t.Fatal(err)
	}
	return b.private.path(name)
}

var privacyTroubles = map[string]provocation{
	"ledger is missing, want the lifetime ledger of this node's data set, ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.private.variant(t, "a.json", `"ledger": "a.ledger", `, ""))
	},
	"ledger is ..., want it left out: the fleet is not private, ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.variant(t, "a.json", `"version": 1`, `"version": 1, "ledger": "x"`))
	},
	"ledger: ... no such file or directory; ... never started automatically ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.private.variant(t, "a.json", "a.ledger", "none.ledger"))
	},
	"no such file or directory: it was deleted, for its mark ... names ... reservations; ...": func(t *testing.T, b *bench) (int, string) {
		path := b.used(t, "deleted.ledger")
		b.private.remove(t, "deleted.ledger")
		return said("privacy", "-ledger", path)
	},
	"no such file or directory: it was deleted with its mark, for ... shows that runs have used it; ...": func(t *testing.T, b *bench) (int, string) {
		b.private.write(t, "gone.ledger.neighbors", "")
		return said("run", b.private.variant(t, "a.json", "a.ledger", "gone.ledger"))
	},
	"ledger ... and its mark are missing, and ... has releases that they counted: ...": func(t *testing.T, b *bench) (int, string) {
		b.done(t)
		path := b.lone.variant(t, "a.json", "a.ledger", "gone.ledger")
		code, text := said("check", path, "-offline")
		if code != cli.ExitFailed || !strings.Contains(text, "has releases that they counted") {
			t.Errorf("check: exit code %d, %s", code, text)
		}
		return said("run", path)
	},
	"its mark ... is missing: only the mark shows whether the ledger is its newest copy, ...": func(t *testing.T, b *bench) (int, string) {
		path := b.used(t, "unmarked.ledger")
		b.private.remove(t, "unmarked.ledger.mark")
		return said("privacy", "-ledger", path)
	},
	"it ends with reservation ..., but number ... was made: it was rolled back or cut off; ...": func(t *testing.T, b *bench) (int, string) {
		path := b.used(t, "old.ledger")
		lines := strings.SplitAfter(readFile(t, path), "\n")
		b.private.write(t, "old.ledger", strings.Join(lines[:2], ""))
		return said("privacy", "-ledger", path)
	},
	"it has the id ..., want ...: this is another ledger": func(t *testing.T, b *bench) (int, string) {
		b.done(t)
		return said("privacy", "-verify", b.lone.path("a.state/certificate.json"), "-ledger", b.used(t, "another.ledger"))
	},
	"ledger ...: in use by another process": func(t *testing.T, b *bench) (int, string) {
		l := b.book(t, "busy.ledger", nil)
		defer l.Close()
		return said("run", b.private.variant(t, "a.json", "a.ledger", "busy.ledger"))
	},
	"...; a ledger is never overwritten": func(t *testing.T, b *bench) (int, string) {
		return said("privacy", "-new-ledger", b.private.path("a.ledger"), "-dataset", "patients")
	},
	"in the lifetime of ...: refused, the privacy budget does not cover it: ...": func(t *testing.T, b *bench) (int, string) {
		l := b.book(t, "small.ledger", &dpmech.Limit{Epsilon: 0.5, Delta: 1e-5})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return said("run", b.private.variant(t, "a.json", "a.ledger", "small.ledger"))
	},
	"epsilon limit ... covers ...": func(t *testing.T, b *bench) (int, string) {
		file := b.private.variant(t, "fleet.json", `"delta": 0.00001`, `"delta": 0.00001, "epsilon_limit": 0.5`)
		return said("run", b.private.variant(t, "a.json", "fleet.json", file[len(b.private.dir)+1:]))
	},
	"... a privacy budget would be spent for next to nothing: ...": func(t *testing.T, _ *bench) (int, string) {
		dir := filepath.Join(t.TempDir(), "few")
		if code, text := said("init", dir, "-n", "1", "-hosts", ownPort(), "-epsilon", "0.5"); code != cli.ExitDone {
			t.Fatal(text)
		}
		var out bytes.Buffer
		code := run(t.Context(), []string{"run", filepath.Join(dir, "node-0", "node.json")}, &out, &out) // without -anyway
		return code, out.String()
	},
	"not even one release: refused, the privacy budget does not cover it: ...": func(*testing.T, *bench) (int, string) {
		return said("privacy", "-sigma", "0.1", "-epsilon", "1")
	},
	"... is stated as ..., and is ...": func(t *testing.T, b *bench) (int, string) {
		b.done(t)
		text := readFile(t, b.lone.path("a.state/certificate.json"))
		b.lone.write(t, "forged.json", strings.ReplaceAll(text, `"sigma": 1`, `"sigma": 2`))
		return said("privacy", "-verify", b.lone.path("forged.json"))
	},
}

// talker writes a node file whose program is a shell script.
func (tr *trial) talker(t *testing.T, script, more string) string {
	t.Helper()
	return tr.oracle(t, `{"stream": ["sh", "-c", `+strconv.Quote(script)+`]`+more+`}`)
}

const (
	hello6   = `echo '{"hello":1,"dim":6,"samples":8}'; `
	answerer = hello6 + `while read -r line; do id=${line#*:}; echo "{\"id\":${id%%,*},ANSWER}"; done`
)

var scorerTroubles = map[string]provocation{
	"oracle.stream: ... no such file or directory": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.oracle(t, `{"stream": ["./absent"]}`))
	},
	"oracle.stream says that it has ... parameters, but dim of the fleet is ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.talker(t, `echo '{"hello":1,"dim":7,"samples":8}'; cat`, ""))
	},
	"begins with ..., want a hello such as ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.talker(t, `echo loading; cat`, ""))
	},
	"has not said its hello within ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.talker(t, `read x`, `, "start_seconds": 0.2`))
	},
	"has ended: exit status ...; standard error: ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.talker(t, `echo no data here >&2; exit 3`, ""))
	},
	"has not answered within ..., and holds ...": func(t *testing.T, b *bench) (int, string) {
		return said("check", "-offline", b.plain.talker(t, hello6+`sleep 100`, `, "timeout_seconds": 0.2`))
	},
	"has no loss, but ...": func(t *testing.T, b *bench) (int, string) {
		return said("check", "-offline", b.plain.talker(t, strings.Replace(answerer, "ANSWER", `\"loss\":null`, 1), ""))
	},
}

var dataTroubles = map[string]provocation{
	"oracle.builtin.fit is \"own\", and what this node fits on its own data is not the fleet's model: ...": func(t *testing.T, b *bench) (int, string) {
		b.plain.write(t, "alike.csv", "x,y,label\n1,2,a\n1,2,b\n1,2,a\n1,2,b\n")
		return said("run", b.plain.oracle(t, `{"builtin": {"fit": "own", "model": "softmax", "data": "csv:alike.csv", "label": "label", "test_fraction": 0, "pca": 2}}`))
	},
	"-label ...: ... has no such column": func(t *testing.T, b *bench) (int, string) {
		b.plain.write(t, "a.csv", "x,y,label\n1,2,a\n3,4,b\n")
		return said("simulate", "-data", "csv:"+b.plain.path("a.csv"), "-label", "lable")
	},
	"line ...: column ...: ... is no finite number": func(t *testing.T, b *bench) (int, string) {
		b.plain.write(t, "b.csv", "x,y,label\n1,2,a\n3,?,b\n")
		return said("simulate", "-data", "csv:"+b.plain.path("b.csv"), "-label", "label")
	},
	"-label ... has ... values that are numbers, too many for classes": func(t *testing.T, b *bench) (int, string) {
		b.plain.write(t, "n.csv", "x,label\n"+numbered(21))
		return said("simulate", "-data", "csv:"+b.plain.path("n.csv"), "-label", "label")
	},
	"no train-images-idx3-ubyte or images-idx3-ubyte there, plain or with .gz": func(t *testing.T, b *bench) (int, string) {
		return said("simulate", "-data", "idx:"+b.plain.dir)
	},
	"partition of ... samples over ... clients, want at least one sample each": func(t *testing.T, b *bench) (int, string) {
		b.plain.write(t, "c.csv", "x,label\n"+strings.Repeat("1,a\n2,b\n", 5))
		return said("simulate", "-data", "csv:"+b.plain.path("c.csv"), "-label", "label", "-nodes", "9", "-graph", "ring")
	},
	"oracle.builtin has ... parameters (...), but dim of the fleet is ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.variant(t, "a.json", `"seed": 5`, `"seed": 5, "bias": false`))
	},
	"oracle.builtin.fit is missing, and the fleet file has no task ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.oracle(t, `{"builtin": {"data": "synthetic:clinical"}}`))
	},
	"... has no column ..., which the recipe wants ...": func(t *testing.T, b *bench) (int, string) {
		return b.tasked(t, "age,outcome\n1,yes\n2,no\n")
	},
	"line ...: column ...: ... is none of its categories, which are ...": func(t *testing.T, b *bench) (int, string) {
		return b.tasked(t, "age,ward,outcome\n1,west,yes\n2,south,no\n")
	},
	"coordinate ... of the model has become too large ...: the run diverges, try a smaller step or gain": func(t *testing.T, _ *bench) (int, string) {
		tr := newTrial(t, "a ", func(f *sdk.Fleet) { f.Members, f.Edges, f.Method.Eta = []string{"a"}, nil, []float64{1e12} })
		tr.write(t, "score.sh", scoreScript)
		return said("run", tr.oracle(t, `{"stream": ["sh", "score.sh", "6"]}`))
	},
}

// tasked runs a fleet of one with a task fitted on other data than its node's.
func (b *bench) tasked(t *testing.T, mine string) (int, string) {
	t.Helper()
	var public strings.Builder
	public.WriteString("age,ward,outcome\n")
	for i := range 20 {
		public.WriteString([]string{"1,east,no\n", "2,west,yes\n", "3,east,yes\n"}[i%3])
	}
	b.plain.write(t, "public.csv", public.String())
	b.plain.write(t, "mine.csv", mine)
	b.plain.remove(t, "task.json", "tasked")
	if code, text := said("fit", "-data", "csv:"+b.plain.path("public.csv"), "-label", "outcome", "-onehot", "ward", "-fitted-on", "x", "-out", b.plain.path("task.json")); code != cli.ExitDone {
		return code, text
	}
	if code, text := said("init", b.plain.path("tasked"), "-n", "1", "-hosts", ownPort(), "-non-private", "-task", b.plain.path("task.json"), "-data", "csv:"+b.plain.path("mine.csv")); code != cli.ExitDone {
		return code, text
	}
	return said("run", b.plain.path("tasked/node-0/node.json"))
}

var pageTroubles = map[string]provocation{
	"-http: ..., want host:port on loopback, ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.path("a.json"), "-http", "0.0.0.0:80")
	},
	"\"http\": listen tcp ...: bind: address already in use": func(t *testing.T, b *bench) (int, string) {
		busy, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer busy.Close()
		return said("run", b.plain.variant(t, "a.json", "a.state", "page.state"), "-http", busy.Addr().String())
	},
	"control: the path of a socket can have ... bytes, ...; the node goes on without, ...": func(t *testing.T, _ *bench) (int, string) {
		tr := newTrial(t, "ab", nil)
		tr.edit(t, "a.json", "a.state", strings.Repeat("long", 30)+"/state")
		return hears(t, []string{"control: "}, tr.path("a.json"))
	},
	"... whether the node runs cannot be told": func(t *testing.T, b *bench) (int, string) {
		return said("status", b.plain.variant(t, "a.json", "a.state", strings.Repeat("long", 30)+"/state"))
	},
	"node ... was asked to stop, but is still running after ...": func(t *testing.T, _ *bench) (int, string) {
		tr := newTrial(t, "ab", nil)
		a := start(t, "run", tr.path("a.json"))
		a.log.await(t, "waiting for")
		a.freeze(t)
		defer func() { _ = a.cmd.Process.Signal(os.Signal(syscall.SIGCONT)) }()
		return said("stop", tr.path("a.json"), "-timeout", "200ms")
	},
}

// numbered returns rows with n labels that are numbers.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "1,%d.5\n", i)
	}
	return b.String()
}
