package program

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// statusJSON returns a member's status, which must be available.
func (tr *trial) statusJSON(t *testing.T, member string) monitor.Status {
	t.Helper()
	code, out, log := call("status", "-json", tr.path(member+".json"))
	if code != cli.ExitDone {
		t.Fatalf("exit code %d: %s", code, log)
	}
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	var st monitor.Status
	if err := dec.Decode(&st); err != nil || dec.More() {
		t.Fatalf("%v in %s", err, out)
	}
	return st
}

func (tr *trial) tells(t *testing.T, member string, words ...string) {
	t.Helper()
	code, out, log := call("status", tr.path(member+".json"))
	for _, w := range words {
		if code != cli.ExitDone || !strings.Contains(out, w) {
			t.Errorf("exit code %d, no %q in\n%s%s", code, w, out, log)
		}
	}
}

func noWindows(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("sockets and signals of this kind are not there")
	}
}

// What status, stop and the page report of a node that never ran, waits, is stopped, waits again, crashes, and
// completes.
func TestStatusAndStop(t *testing.T) {
	t.Parallel()
	noWindows(t)
	tr := newTrial(t, "ab bc", func(f *sdk.Fleet) {
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5,
			EpsilonLimit: 8}
	})
	b := tr.path("b.json")

	st := tr.statusJSON(t, "b")
	if st.Running || st.Phase != monitor.Fresh || st.Round != 0 || st.Rounds != 6 || st.Cooldown != 3 ||
		st.Privacy == nil || st.Privacy.Epsilon != 0 || st.Privacy.Lifetime == nil {
		t.Errorf("never ran: %+v", st)
	}
	tr.tells(t, "b", "not running; nothing was ever released", "round          0 of 9", "epsilon 0.00 against everybody else together, at delta 1e-05 (gdp)\n", "; allowed: 8 against everybody else together")
	if _, err := os.Stat(tr.path("b.state")); err == nil {
		t.Error("status has made the state folder")
	}
	code, out, _ := call("stop", b)
	if code != cli.ExitDone || out != "node \"b\" of run \"trial\" does not run; it has made 0 of 9 releases\n" {
		t.Errorf("stop: exit code %d, %q", code, out)
	}

	lone := start(t, "run", b, "-http", "127.0.0.1:0")
	lone.log.await(t, "after round 0 of 9: waiting for")
	st = tr.statusJSON(t, "b")
	if !st.Running || st.Ready || st.Phase != monitor.Waiting || len(st.Waiting) != 2 || len(st.Neighbors) != 2 ||
		st.Neighbors[0].Link == nil || st.Neighbors[0].Link.Connected || st.NonPrivate {
		t.Errorf("waiting: %+v", st)
	}
	tr.tells(t, "b", `"a": not connected for`, "refused",
		`lifetime       epsilon 0.00 against everybody else together, of the data set "patients of b", over 0 runs`)
	info, err := os.Stat(tr.path("b.state/control"))
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("socket: %v, %v", info, err)
	}
	if info, err := os.Stat(tr.path("b.state")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("state folder: %v, %v", info, err)
	}
	page := lone.pageAddress(t)
	if code, text := get(t, page+"status"); code != 200 || !strings.Contains(text, `"phase": "waiting"`) ||
		!strings.Contains(text, `"covered_by_privacy": false`) {
		t.Errorf("code %d: %s", code, text)
	}
	if code, text := get(t, page+"readyz"); code != 503 || text != "no neighbor is connected\n" {
		t.Errorf("code %d: %s", code, text)
	}
	if code, text := get(t, page+"healthz"); code != 200 {
		t.Errorf("code %d: %s", code, text)
	}

	code, out, log := call("stop", "-json", b)
	if code != cli.ExitDone ||
		out != "{\n  \"was_running\": true,\n  \"round\": 0,\n  \"rounds\": 6,\n  \"cooldown\": 3\n}\n" {
		t.Errorf("stop: exit code %d, %s%s", code, out, log)
	}
	lone.wait(t, cli.ExitFailed)
	if !strings.HasSuffix(lone.log.String(), "spade-edge run: stopped, as asked; run again to go on\n") ||
		lone.out.Len() > 0 {
		t.Errorf("output %q and\n%s", &lone.out, lone.log)
	}
	if _, err := os.Lstat(tr.path("b.state/control")); err == nil {
		t.Error("the socket is still there")
	}

	// A crash leaves the socket behind.
	lone = start(t, "run", b)
	lone.log.await(t, "after round 0 of 9: waiting for")
	_ = lone.cmd.Process.Kill()
	<-lone.over
	if _, err := os.Lstat(tr.path("b.state/control")); err != nil {
		t.Errorf("the test is void: %v", err)
	}
	if st := tr.statusJSON(t, "b"); st.Running || st.Phase != monitor.Fresh {
		t.Errorf("after a crash: %+v", st)
	}

	nodes := []*process{start(t, "run", tr.path("a.json")), start(t, "run", b), start(t, "run", tr.path("c.json"))}
	for _, n := range nodes {
		n.wait(t, cli.ExitDone)
	}
	st = tr.statusJSON(t, "b")
	if st.Running || st.Phase != monitor.Finished || st.Round != 9 || st.Privacy.Epsilon != st.Privacy.Planned ||
		st.Privacy.Lifetime.Runs != 1 || st.Fault != "" {
		t.Errorf("done: %+v", st)
	}
	tr.tells(t, "b", "not running; its run is done", "round          9 of 9")

	tr.write(t, "b.state/slot-0", "torn")
	tr.write(t, "b.state/slot-1", "torn")
	st = tr.statusJSON(t, "b")
	if st.Phase != monitor.Damaged || !strings.Contains(st.Fault, "no state is left to continue from") {
		t.Errorf("damaged: %+v", st)
	}
	tr.tells(t, "b", "not running; its state is damaged", "fault          ")
}

// pageAddress returns the address of the page from the node's log.
func (p *process) pageAddress(t *testing.T) string {
	t.Helper()
	p.log.await(t, "page: http://")
	_, rest, _ := strings.Cut(p.log.String(), "page: ")
	address, _, _ := strings.Cut(rest, "\n")
	return address
}

func get(t *testing.T, url string) (code int, text string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// A node with a page that scores every round is stopped in the middle, first by stop and then by SIGTERM. It ends with
// the bits of an undisturbed run.
func TestStopInTheMiddle(t *testing.T) {
	t.Parallel()
	noWindows(t)
	tr := newTrial(t, "ab bc", func(f *sdk.Fleet) { f.Method.Rounds, f.Method.Eta = 150, []float64{0.5} })
	models, _ := tr.simulate(t)
	run := func(member string) *process {
		return start(t, "run", "-json", "-http", "127.0.0.1:0", "-linger", "0s", tr.path(member+".json"))
	}
	a, b, c := run("a"), run("b"), run("c")
	c.log.await(t, "round   1 of 153")
	b.log.await(t, "round   5 of 153")
	code, out, log := call("stop", tr.path("b.json"))
	if code != cli.ExitDone || !strings.Contains(out, `node "b" of run "trial" has stopped after round`) {
		t.Fatalf("exit code %d: %s%s", code, out, log)
	}
	b.wait(t, cli.ExitFailed)
	stopped := tr.statusJSON(t, "b")
	if stopped.Running || stopped.Phase != monitor.Stopped || stopped.Round < 5 || stopped.Fault != "" {
		t.Errorf("stopped: %+v", stopped)
	}
	tr.tells(t, "b", "NOT PRIVATE", "not running; it would go on from here")
	b = run("b")
	b.log.await(t, "connected")
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	b.wait(t, cli.ExitFailed)
	if again := tr.statusJSON(t, "b"); again.Round < stopped.Round || again.Fault != "" {
		t.Errorf("after an interrupt: %+v", again)
	}
	b = run("b")
	for i, p := range []*process{a, b, c} {
		if r := p.outcome(t); r.Model != models[i] {
			t.Errorf("model of %s is %s, the simulation's is %s", r.Name, r.Model, models[i])
		}
	}
}

// With -http the page remains after the run, shows "done" and the result's round, until a client has read it.
func TestPageStays(t *testing.T) {
	t.Parallel()
	noWindows(t)
	tr := newTrial(t, "ab", nil)
	a, b := start(t, "run", tr.path("a.json"), "-http", "127.0.0.1:0"), start(t, "run", tr.path("b.json"))
	b.wait(t, cli.ExitDone)
	a.log.await(t, "the page stays until you interrupt")
	if code, text := get(t, a.pageAddress(t)+"status"); code != 200 || !strings.Contains(text, `"phase": "ended"`) || !strings.Contains(text, `"round": 9,`) {
		t.Errorf("code %d: %s", code, text)
	}
	tr.tells(t, "a", "done")
	if err := a.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	a.wait(t, cli.ExitDone)
	if out := a.out.String(); !strings.Contains(out, "model          ") || strings.Count(out, "model  ") != 1 {
		t.Errorf("output %s", out)
	}
	again := start(t, "run", tr.path("a.json"), "-http", "127.0.0.1:0", "-linger", "10ms", "-anyway") // after the run
	again.wait(t, cli.ExitDone)
	again.log.await(t, "the page stays for 10ms")
	if code, _, log := call("run", tr.path("a.json"), "-linger", "1s"); code != cli.ExitUsage || !strings.Contains(log, "-linger is 1s, want 0s or more, with -http") {
		t.Errorf("exit code %d: %s", code, log)
	}
}

// If no control socket can be created, the node runs anyway and reports that; status then says what it cannot report.
func TestNoControl(t *testing.T) {
	noWindows(t)
	tr := newTrial(t, "ab", nil)
	long := strings.Repeat("long", 30)
	tr.edit(t, "a.json", "a.state", long+"/state")
	if err := os.MkdirAll(tr.path("b.state/control"), 0o700); err != nil {
		t.Fatal(err)
	}
	a, b := start(t, "run", tr.path("a.json")), start(t, "run", tr.path("b.json"))
	a.wait(t, cli.ExitDone)
	b.wait(t, cli.ExitDone)
	a.log.await(t, "control: the path of a socket can have", "the node goes on without")
	b.log.await(t, "control: ", "is no socket", "the node goes on without")
	code, out, log := call("status", tr.path("a.json"))
	if code != cli.ExitFailed || out != "" || !strings.Contains(log, "whether the node runs cannot be told") {
		t.Errorf("exit code %d: %s%s", code, out, log)
	}
	tr.tells(t, "b", "its run is done")
}

// The topic explains every metric and every field of a status.
func TestTopicIsComplete(t *testing.T) {
	code, topic, _ := call("help", "page")
	if code != cli.ExitDone {
		t.Fatalf("exit code %d", code)
	}
	link := &monitor.Link{Fault: "f", Refusal: "r"}
	st := monitor.Status{
		NonPrivate: true, Fault: "f", Neighbors: []monitor.Neighbor{{Name: "b", Link: link}}, Local: &monitor.Local{},
		Privacy: &monitor.Privacy{Lifetime: &monitor.Lifetime{AgainstAll: &monitor.LifetimeAgainst{}}, AgainstAll: &monitor.Against{}}, Mixing: 1,
		Trend: &monitor.Trend{Falling: true, Last: 0.125},
	}
	names, without := 0, st
	without.Trend = nil
	if !bytes.Equal(monitor.Metrics(st), monitor.Metrics(without)) {
		t.Error("metrics, which leave the device, depend on the node's own losses")
	}
	for line := range strings.Lines(string(monitor.Metrics(st))) {
		if rest, ok := strings.CutPrefix(line, "# TYPE spade_edge_"); ok {
			names++
			if name, _, _ := strings.Cut(rest, " "); !strings.Contains(topic, name) {
				t.Errorf("no metric %s in the topic", name)
			}
		}
	}
	if names < 25 {
		t.Errorf("%d metrics", names)
	}
	text, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), `"`) {
		if strings.Trim(part, "abcdefghijklmnopqrstuvwxyz_") == "" && len(part) > 1 && part != "null" &&
			!strings.Contains(topic, part) {
			t.Errorf("no field %s in the topic", part)
		}
	}
}

// The status marks what comes from the device's own data.
func TestStatusOfOwnData(t *testing.T) {
	st := monitor.Status{
		Name: "a", Run: "trial", Running: true, Phase: monitor.Querying, ConsensusError: monitor.Unknown(), Local: &monitor.Local{FailedQueries: 3, LastFailure: "no\x1b[2J label"},
		Privacy: &monitor.Privacy{Against: monitor.Against{Epsilon: 0.00001, Limit: monitor.Unknown(), Planned: 1.00001}, Delta: 1e-5,
			Accounting: "gdp", Text: "epsilon 0.00001", TextPlanned: "epsilon 1.01", Lifetime: &monitor.Lifetime{Text: "epsilon 2.01"}},
		Trend: &monitor.Trend{Rounds: 80, Falling: true, Before: 0.5, Last: 0.25, Spread: 0.125, More: 40, Planned: 8, Longer: 11},
	}
	text := node.StatusText(&st)
	for _, want := range []string{
		"privacy        epsilon 0.00001, at delta 1e-05 (gdp)\n", "whole run      epsilon 1.01\n", "epsilon 2.01, of the data set",
		"failed         3 losses could not be computed: check the program or the data; for this device only: the privacy " +
			"guarantee does not cover it",
		"\n               " + `no\x1b[2J label`,
		"still falling  yes: the mean loss of this node's queries fell from 0.5 to 0.25 between the last two eighths of 80 rounds",
		"40 more rounds at this noise would raise epsilon from 8.0000 to 11.0000",
		"the privacy guarantee covers neither this line nor a decision",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// With -log json every line is an object that names the node, including internal messages and the final error. Metrics
// require the token.
func TestLogAndMetrics(t *testing.T) {
	t.Parallel()
	noWindows(t)
	tr := newTrial(t, "ab", nil)
	tr.write(t, "token", "a token of enough bytes\n")
	tr.edit(t, "a.json", `"version": 1`, `"version": 1, "metrics": {"listen": "127.0.0.1:0", "token_file": "token"}`)
	a := start(t, "run", "-log", "json", tr.path("a.json"))
	a.log.await(t, `"msg":"NOT PRIVATE  metrics: `)
	a.log.await(t, `"level":"INFO"`, "waiting for")
	_, rest, _ := strings.Cut(a.log.String(), "metrics: ")
	address, _, _ := strings.Cut(rest, `"`)
	if code, text := get(t, "http://"+address+"/metrics"); code != http.StatusUnauthorized {
		t.Errorf("code %d: %s", code, text)
	}
	r, err := http.NewRequest(http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer a token of enough bytes")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), `spade_edge_round{run="trial",node="a"} 0`) {
		t.Errorf("%v: %s", err, text)
	}
	if code, text := said("check", "-offline", tr.path("a.json")); code != cli.ExitDone || !strings.Contains(text, "metrics") {
		t.Errorf("check: exit code %d: %s", code, text)
	}
	b := start(t, "run", tr.path("b.json"))
	b.wait(t, cli.ExitDone)
	a.wait(t, cli.ExitDone)
	for line := range strings.Lines(b.log.String()) {
		if !strings.HasPrefix(line, "b: ") {
			t.Errorf("a line without the node's name: %s", line)
		}
	}
	tr.edit(t, "b.json", `"b.state"`, `"a.json"`)
	wrong := start(t, "run", "-log", "json", tr.path("b.json"))
	wrong.wait(t, cli.ExitFailed)
	released, inside := 0, map[string]bool{}
	for line := range strings.Lines(a.log.String() + wrong.log.String()) {
		var o struct {
			Time, Level, Msg, Run, Node, Note, Peer string
			Round, Rounds                           int
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil || o.Time == "" || o.Run != "trial" || o.Node != "a" && o.Node != "b" {
			t.Errorf("%v in %s", err, line)
		}
		if strings.Contains(o.Msg, "level=") || strings.Count(line, `"node":`) != 1 || strings.Count(line, `"run":`) != 1 {
			t.Errorf("a line within a line, or a key twice: %s", line)
		}
		if o.Node == "a" && o.Peer == "b" {
			inside[o.Level+" "+o.Msg] = true
		}
		if o.Msg == "released" && o.Note != "" && o.Rounds == 9 {
			released++
		}
	}
	if !inside["INFO connected"] || !inside["WARN no connection"] {
		t.Errorf("of the transport there is %v in\n%s", inside, a.log)
	}
	if released != 9 || !strings.Contains(wrong.log.String(), `"level":"ERROR","msg":"spade-edge run: `) {
		t.Errorf("%d releases in\n%s\n%s", released, a.log, wrong.log)
	}
}
