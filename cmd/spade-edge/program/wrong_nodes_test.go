package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// Wrong use of run and keygen, and wrong files: the exit code, what is wrong, nothing on standard output.
func TestWrongRun(t *testing.T) {
	tr := newTrial(t, "ab", nil)
	text, err := os.ReadFile(tr.path("a.json"))
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	node := func(old, new string) string { // a's node file with something replaced
		t.Helper()
		if !strings.Contains(string(text), old) {
			t.Fatalf("no %q in the node file", old)
		}
		files++
		name := fmt.Sprintf("node%d.json", files)
		tr.write(t, name, strings.Replace(string(text), old, new, 1))
		return tr.path(name)
	}
	fleet, err := os.ReadFile(tr.path("fleet.json"))
	if err != nil {
		t.Fatal(err)
	}
	tr.write(t, "lazy.json", strings.Replace(string(fleet), `"tau": 2`, `"tau": 0`, 1))
	listen := strings.TrimSuffix(strings.TrimPrefix(tr.file.Members[0].Addresses[0], "wss://"), "/")
	oracle := string(text[strings.Index(string(text), `{"builtin"`) : len(text)-1])
	wrongUse(t, tr.dir, []mistake{
		{cli.ExitUsage, "no file given, want spade-edge run NODEFILE [flags]", []string{"run"}},
		{cli.ExitUsage, "no file given", []string{"run", "-json"}},
		{cli.ExitUsage, `unexpected argument "b"`, []string{"run", "a", "b"}},
		{cli.ExitUsage, "not defined: -fast", []string{"run", "a", "-fast"}},
		{cli.ExitUsage, "not defined: -fast", []string{"run", "-fast", "a"}},
		{cli.ExitUsage, "a node file: ", []string{"run", tr.path("none.json")}},
		{cli.ExitUsage, "-edges and -offline exclude each other", []string{"check", "a", "-edges", "-offline"}},
		{cli.ExitUsage, "is a folder", []string{"run", tr.dir}},
		{cli.ExitUsage, `name is "", want a name`, []string{"run", node(`"a"`, `""`)}},
		{cli.ExitUsage, "transport is mqtt, which this build does not have; take spade-edge-mqtt", []string{"run", node(`"listen": "`+listen+`"`, `"transport": {"mqtt": "tls://x"}`)}},
		{cli.ExitUsage, "transport is nats, which this build does not have; take spade-edge-nats", []string{"run", node(`"listen": "`+listen+`"`, `"transport": {"nats": "tls://x"}`)}},
		{cli.ExitUsage, `"z" is not a member of the fleet, which has ["a" "b"]`, []string{"run", node(`"a"`, `"z"`)}},
		{cli.ExitUsage, "a fleet file: ", []string{"run", node("fleet.json", "none.json")}},
		{cli.ExitUsage, "lazy.json: fleet: method.tau is 0, want a whole number", []string{"run", node("fleet.json", "lazy.json")}},
		{cli.ExitUsage, "but the fleet file has ed25519:", []string{"run", node("a.key", "b.key")}},
		{cli.ExitUsage, "a key file: ", []string{"run", node("a.key", "none.key")}},
		{cli.ExitUsage, "want it left out: the fleet is not private", []string{"run", node(`"resend_seconds"`, `"ledger": "l", "resend_seconds"`)}},
		{cli.ExitFailed, "oracle.stream: ", []string{"run", node(oracle, `{"stream": ["./absent"]}`)}},
		{cli.ExitUsage, "oracle.builtin has 5 parameters (softmax: 2 classes, 5 columns), but dim of the fleet is 6", []string{"run", node(`"seed": 5`, `"seed": 5, "bias": false`)}},
		{cli.ExitUsage, "oracle.builtin.share: partition of 3200 samples over 4000 clients", []string{"run", node(`"of": 2`, `"of": 4000`)}},
		{cli.ExitFailed, "none.csv", []string{"run", node(`"synthetic:clinical"`, `"csv:none.csv", "label": "y"`)}},
		{cli.ExitFailed, "not a directory", []string{"run", node("a.state", "a.key/state")}},
		{cli.ExitUsage, `-name "" has 0 bytes, want 1..64`, []string{"keygen"}},
		{cli.ExitUsage, "has 65 bytes, want 1..64", []string{"keygen", "-name", strings.Repeat("x", 65)}},
		{cli.ExitUsage, `unexpected argument "a"`, []string{"keygen", "a"}},
		{cli.ExitUsage, "-from and -out exclude each other", []string{"keygen", "-name", "a", "-out", tr.path("x"), "-from", tr.path("a.key")}},
		{cli.ExitFailed, "a.key", []string{"keygen", "-name", "a", "-out", tr.path("a.key")}},
		{cli.ExitFailed, "a key file: ", []string{"keygen", "-name", "a", "-from", tr.path("none.key")}},
		{cli.ExitFailed, "not one PEM block", []string{"keygen", "-name", "a", "-from", tr.path("a.json")}},
	})
}

// Wrong use of init: one clear error, nothing on standard output, and the folder as it was.
func TestWrongInit(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string { return writeFile(t, dir, name, text) }
	_, line, _ := call("keygen", "-name", "a", "-out", filepath.Join(dir, "a.key"))
	_, other, _ := call("keygen", "-name", "b", "-out", filepath.Join(dir, "b.key"))
	recipe := filepath.Join(dir, "task.json")
	if code, _, log := call("fit", "-data", "synthetic:clinical", "-fitted-on", "generated patients", "-out", recipe); code != cli.ExitDone {
		t.Fatal(log)
	}
	placed := strings.Replace(line, "]}", `],"addresses":["wss://a.example:1/"]}`, 1)
	if err := os.Mkdir(filepath.Join(dir, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("full/something", "")
	all := []mistake{
		{cli.ExitUsage, "no file given, want spade-edge init DIR", []string{"-n", "3"}},
		{cli.ExitUsage, "-n, -nodes and -members: give exactly one", []string{"x"}},
		{cli.ExitUsage, "not 2", []string{"x", "-n", "2", "-nodes", "a,b"}},
		{cli.ExitUsage, "-n is 0, want 1..1000", []string{"x", "-n", "0"}},
		{cli.ExitUsage, "is not empty, and nothing is ever overwritten", []string{"full", "-n", "2"}},
		{cli.ExitFailed, "no such file", []string{"none/x", "-n", "2"}},
		{cli.ExitUsage, `name "" of node 1`, []string{"x", "-nodes", "a,,b"}},
		{cli.ExitUsage, `name "../a" of node 0`, []string{"x", "-nodes", "../a,b"}},
		{cli.ExitUsage, `members[2] is "a", want another name than members[0] has`, []string{"x", "-nodes", "a,b,a"}},
		{cli.ExitUsage, "-hosts has 1 places, want one for each of 2 nodes", []string{"x", "-n", "2", "-hosts", "a:1"}},
		{cli.ExitUsage, `-hosts: "a", want host:port`, []string{"x", "-n", "2", "-hosts", "a,b:1"}},
		{cli.ExitUsage, "port is 0, want 1 to 65535", []string{"x", "-n", "1", "-hosts", "a:0"}},
		{cli.ExitUsage, "-hosts, -port, -nats and -mqtt exclude each other", []string{"x", "-n", "1", "-hosts", "a:1", "-port", "1"}},
		{cli.ExitUsage, "-port is 65535, want ports of 1..65535 for 2 nodes", []string{"x", "-n", "2", "-port", "65535"}},
		{cli.ExitUsage, "-graph", []string{"x", "-n", "2", "-graph", "blob"}},
		{cli.ExitUsage, "-dim is missing", []string{"x", "-n", "2", "-stream", "./s"}},
		{cli.ExitUsage, "-dim is missing", []string{"x", "-n", "2", "-data", "csv:f", "-label", "y", "-deal=false"}},
		{cli.ExitUsage, "-dim is 7, but the data make it 6", []string{"x", "-n", "2", "-data", "synthetic:clinical", "-dim", "7"}},
		{cli.ExitUsage, "-dim is -1, want 1..", []string{"x", "-n", "2", "-dim", "-1"}},
		{cli.ExitUsage, "-samples does not go with data that are dealt out", []string{"x", "-n", "2", "-samples", "5"}},
		{cli.ExitUsage, "-samples is 0, want at least 1", []string{"x", "-n", "2", "-dim", "5", "-samples", "0"}},
		{cli.ExitUsage, "-data and -stream exclude each other", []string{"x", "-n", "2", "-dim", "5", "-stream", "a", "-data", "csv:f"}},
		{cli.ExitUsage, "-stream is empty", []string{"x", "-n", "2", "-dim", "5", "-stream", " "}},
		{cli.ExitUsage, "-task goes with -data of each node's own", []string{"x", "-n", "2", "-task", recipe}},
		{cli.ExitUsage, "-label does not go with -task", []string{"x", "-n", "2", "-task", recipe, "-data", "csv:f", "-label", "y"}},
		{cli.ExitUsage, "-dim is 5, but", []string{"x", "-n", "2", "-task", recipe, "-data", "csv:f", "-dim", "5"}},
		{cli.ExitUsage, "none.json", []string{"x", "-n", "2", "-task", "none.json", "-data", "csv:f"}},
		{cli.ExitUsage, "-model perceptron on each node's own data needs -task", []string{"x", "-n", "2", "-data", "synthetic:clinical", "-deal=false", "-dim", "57", "-model", "perceptron"}},
		{cli.ExitUsage, "-label goes with -data only", []string{"x", "-n", "2", "-dim", "5", "-stream", "a", "-label", "y"}},
		{cli.ExitUsage, "-deal goes with -data only", []string{"x", "-n", "2", "-dim", "5", "-stream", "a", "-deal"}},
		{cli.ExitUsage, "-label is missing", []string{"x", "-n", "2", "-data", "csv:f"}},
		{cli.ExitFailed, "none.csv", []string{"x", "-n", "2", "-data", "csv:none.csv", "-label", "y"}},
		{cli.ExitUsage, "-non-private and -epsilon exclude each other", []string{"x", "-n", "2", "-non-private", "-epsilon", "3"}},
		{cli.ExitUsage, "-gain is 1", []string{"x", "-n", "2", "-gain", "1"}},
		{cli.ExitUsage, `-run is "\x01", want 1..64 bytes`, []string{"x", "-n", "2", "-run", "\x01"}},
		{cli.ExitUsage, "pathological", []string{"x", "-n", "2", "-partition", "pathological:0"}},
		{cli.ExitUsage, "none.txt", []string{"x", "-members", "none.txt"}},
		{cli.ExitUsage, "has no members", []string{"x", "-members", write("empty.txt", "# nobody\n")}},
		{cli.ExitUsage, "junk.txt:2: ", []string{"x", "-dim", "5", "-members", write("junk.txt", line+"{\"name\": 3}\n")}},
		{cli.ExitUsage, "after top-level value", []string{"x", "-dim", "5", "-members", write("two.txt", strings.TrimSpace(line)+other)}},
		{cli.ExitUsage, `unknown field "secret"`, []string{"x", "-dim", "5", "-members", write("odd.txt", `{"name":"a","secret":"x"}`)}},
		{cli.ExitUsage, "has 0 keys, want 1 or 2", []string{"x", "-dim", "5", "-members", write("keyless.txt", `{"name":"a","keys":[]}`)}},
		{cli.ExitUsage, "no member in", []string{"x", "-dim", "5", "-members", write("nowhere.txt", line+other)}},
		{cli.ExitUsage, "for flag -stream: want a program and its arguments", []string{"x", "-n", "2", "-dim", "5", "-stream", `run "a`}},
		{cli.ExitUsage, "-nats is not of the form tls://host:port", []string{"x", "-n", "2", "-nats", "broker:4222"}},
		{cli.ExitUsage, "-mqtt is not of the form tls://host:port", []string{"x", "-n", "2", "-mqtt", "nats://broker:1883"}},
		{cli.ExitUsage, "-hosts, -port, -nats and -mqtt exclude each other", []string{"x", "-n", "2", "-nats", "tls://a:1", "-mqtt", "tls://a:1"}},
		{cli.ExitUsage, "-nats has a user in it", []string{"x", "-n", "2", "-nats", "tls://me:secret@broker:4222"}},
		{cli.ExitUsage, "-hosts, -port, -nats and -mqtt exclude each other", []string{"x", "-n", "2", "-nats", "tls://broker:4222", "-port", "7000"}},
		{cli.ExitUsage, `-hosts: "a" has an address`, []string{"x", "-dim", "5", "-hosts", "h:1", "-members", write("placed.txt", placed)}},
		{cli.ExitUsage, "which is members[0].keys[0] already", []string{"x", "-dim", "5", "-hosts", "h:1,h:2", "-members", write("twin.txt", line+strings.Replace(line, `"a"`, `"b"`, 1))}},
	}
	for i, c := range all {
		all[i].args = append([]string{"init"}, c.args...)
	}
	wrongUse(t, dir, all)
}

// Wrong use writes nothing and starts nothing.
func TestWrongStatus(t *testing.T) {
	tr := newTrial(t, "ab", nil)
	wrongUse(t, tr.dir, []mistake{
		{cli.ExitUsage, "no file given, want spade-edge status NODEFILE [-json]", []string{"status"}},
		{cli.ExitUsage, "no file given, want spade-edge stop NODEFILE [-timeout T] [-fleet [-round L]] [-json]", []string{"stop", "-json"}},
		{cli.ExitUsage, "-round is 3, want 1 or more, with -fleet", []string{"stop", "node.json", "-round", "3"}},
		{cli.ExitUsage, "-round is 0, want 1 or more, with -fleet", []string{"stop", "node.json", "-fleet", "-round", "0"}},
		{cli.ExitUsage, "-timeout does not go with -fleet", []string{"stop", "node.json", "-fleet", "-timeout", "3s"}},
		{cli.ExitUsage, "a node file: ", []string{"status", tr.path("none.json")}},
		{cli.ExitUsage, "a node file: ", []string{"stop", tr.path("none.json")}},
		{cli.ExitUsage, "not defined: -fast", []string{"status", tr.path("a.json"), "-fast"}},
		{cli.ExitUsage, "-timeout is 0s, want more than 0", []string{"stop", tr.path("a.json"), "-timeout", "0"}},
		{cli.ExitUsage, `-http: "0.0.0.0:80", want host:port on loopback`, []string{"run", tr.path("a.json"), "-http", "0.0.0.0:80"}},
		{cli.ExitUsage, `-http: ":8080", want host:port on loopback`, []string{"demo", "-http", ":8080"}},
	})
}
