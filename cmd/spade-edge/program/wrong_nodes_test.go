package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		{exitUsage, "no file given, want spade-edge run NODEFILE [-recover] [-anyway] [-until WHEN] [-without NAMES] [-http ADDR] [-log FORM] [-json]", []string{"run"}},
		{exitUsage, "no file given", []string{"run", "-json"}},
		{exitUsage, `unexpected argument "b"`, []string{"run", "a", "b"}},
		{exitUsage, "not defined: -fast", []string{"run", "a", "-fast"}},
		{exitUsage, "not defined: -fast", []string{"run", "-fast", "a"}},
		{exitUsage, "a node file: ", []string{"run", tr.path("none.json")}},
		{exitUsage, "-edges and -offline exclude each other", []string{"check", "a", "-edges", "-offline"}},
		{exitUsage, "is a folder", []string{"run", tr.dir}},
		{exitUsage, `name is "", want a name`, []string{"run", node(`"a"`, `""`)}},
		{exitUsage, "transport is nats, which this build does not have; take spade-edge-nats", []string{"run", node(`"listen": "`+listen+`"`, `"transport": {"nats": "tls://x"}`)}},
		{exitUsage, `"z" is not a member of the fleet, which has ["a" "b"]`, []string{"run", node(`"a"`, `"z"`)}},
		{exitUsage, "a fleet file: ", []string{"run", node("fleet.json", "none.json")}},
		{exitUsage, "lazy.json: sdk: fleet: method.tau is 0, want a whole number", []string{"run", node("fleet.json", "lazy.json")}},
		{exitUsage, "but the fleet file has ed25519:", []string{"run", node("a.key", "b.key")}},
		{exitUsage, "a key file: ", []string{"run", node("a.key", "none.key")}},
		{exitUsage, "want it left out: the fleet is not private", []string{"run", node(`"resend_seconds"`, `"ledger": "l", "resend_seconds"`)}},
		{exitUsage, "want an argument with {sample}", []string{"run", node(oracle, `{"oneshot": ["./absent"], "samples": 8}`)}},
		{exitFailed, "oracle.oneshot: scorer: ", []string{"run", node(oracle, `{"oneshot": ["./absent", "{sample}"], "samples": 8}`)}},
		{exitFailed, "oracle.stream: scorer: ", []string{"run", node(oracle, `{"stream": ["./absent"]}`)}},
		{exitUsage, "oracle.builtin has 5 parameters (softmax: 2 classes, 5 columns), but dim of the fleet is 6", []string{"run", node(`"seed": 5`, `"seed": 5, "bias": false`)}},
		{exitUsage, "oracle.builtin.share: task: partition of 3200 samples over 4000 clients", []string{"run", node(`"of": 2`, `"of": 4000`)}},
		{exitFailed, "none.csv", []string{"run", node(`"synthetic:clinical"`, `"csv:none.csv", "label": "y"`)}},
		{exitFailed, "state: ", []string{"run", node("a.state", "a.key/state")}},
		{exitUsage, `-name "" has 0 bytes, want 1..64`, []string{"keygen"}},
		{exitUsage, "has 65 bytes, want 1..64", []string{"keygen", "-name", strings.Repeat("x", 65)}},
		{exitUsage, `unexpected argument "a"`, []string{"keygen", "a"}},
		{exitUsage, "-from and -out exclude each other", []string{"keygen", "-name", "a", "-out", tr.path("x"), "-from", tr.path("a.key")}},
		{exitFailed, "a.key", []string{"keygen", "-name", "a", "-out", tr.path("a.key")}},
		{exitFailed, "a key file: ", []string{"keygen", "-name", "a", "-from", tr.path("none.key")}},
		{exitFailed, "not one PEM block", []string{"keygen", "-name", "a", "-from", tr.path("a.json")}},
	})
}

// Wrong use of init: one clear error, nothing on standard output, and the folder as it was.
func TestWrongInit(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string { return writeFile(t, dir, name, text) }
	_, line, _ := call("keygen", "-name", "a", "-out", filepath.Join(dir, "a.key"))
	_, other, _ := call("keygen", "-name", "b", "-out", filepath.Join(dir, "b.key"))
	recipe := filepath.Join(dir, "task.json")
	if code, _, log := call("fit", "-data", "synthetic:clinical", "-fitted-on", "generated patients", "-out", recipe); code != exitDone {
		t.Fatal(log)
	}
	placed := strings.Replace(line, "]}", `],"addresses":["wss://a.example:1/"]}`, 1)
	if err := os.Mkdir(filepath.Join(dir, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("full/something", "")
	all := []mistake{
		{exitUsage, "no file given, want spade-edge init DIR", []string{"-n", "3"}},
		{exitUsage, "-n, -nodes and -members: give one", []string{"x"}},
		{exitUsage, "not 2", []string{"x", "-n", "2", "-nodes", "a,b"}},
		{exitUsage, "-n is 0, want 1..1000", []string{"x", "-n", "0"}},
		{exitUsage, "something in it: nothing is ever overwritten", []string{"full", "-n", "2"}},
		{exitFailed, "no such file", []string{"none/x", "-n", "2"}},
		{exitUsage, `name "" of node 1`, []string{"x", "-nodes", "a,,b"}},
		{exitUsage, `name "../a" of node 0`, []string{"x", "-nodes", "../a,b"}},
		{exitUsage, `members[2] is "a", want another name than members[0] has`, []string{"x", "-nodes", "a,b,a"}},
		{exitUsage, "-hosts has 1 places, want one for each of 2 nodes", []string{"x", "-n", "2", "-hosts", "a:1"}},
		{exitUsage, `-hosts: "a", want host:port`, []string{"x", "-n", "2", "-hosts", "a,b:1"}},
		{exitUsage, "port is 0, want 1 to 65535", []string{"x", "-n", "1", "-hosts", "a:0"}},
		{exitUsage, "-hosts, -port and -nats exclude each other", []string{"x", "-n", "1", "-hosts", "a:1", "-port", "1"}},
		{exitUsage, "-port is 65535, want ports of 1..65535 for 2 nodes", []string{"x", "-n", "2", "-port", "65535"}},
		{exitUsage, "-graph", []string{"x", "-n", "2", "-graph", "blob"}},
		{exitUsage, "-dim is missing", []string{"x", "-n", "2", "-stream", "./s"}},
		{exitUsage, "-dim is missing", []string{"x", "-n", "2", "-data", "csv:f", "-label", "y", "-deal=false"}},
		{exitUsage, "-dim is 7, but the data make it 6", []string{"x", "-n", "2", "-data", "synthetic:clinical", "-dim", "7"}},
		{exitUsage, "-dim is -1, want 1..", []string{"x", "-n", "2", "-dim", "-1"}},
		{exitUsage, "-samples does not go with data that are dealt out", []string{"x", "-n", "2", "-samples", "5"}},
		{exitUsage, "-samples is 0, want at least 1", []string{"x", "-n", "2", "-dim", "5", "-samples", "0"}},
		{exitUsage, "-data, -stream and -oneshot exclude each other", []string{"x", "-n", "2", "-dim", "5", "-stream", "a", "-oneshot", "b {sample}"}},
		{exitUsage, "-stream is empty", []string{"x", "-n", "2", "-dim", "5", "-stream", " "}},
		{exitUsage, "-oneshot: scorer: Command is", []string{"x", "-n", "2", "-dim", "5", "-oneshot", "a"}},
		{exitUsage, "-workers is 2", []string{"x", "-n", "2", "-dim", "5", "-workers", "2"}},
		{exitUsage, "-task goes with -data of each node's own", []string{"x", "-n", "2", "-task", recipe}},
		{exitUsage, "-label does not go with -task", []string{"x", "-n", "2", "-task", recipe, "-data", "csv:f", "-label", "y"}},
		{exitUsage, "-dim is 5, but", []string{"x", "-n", "2", "-task", recipe, "-data", "csv:f", "-dim", "5"}},
		{exitUsage, "none.json", []string{"x", "-n", "2", "-task", "none.json", "-data", "csv:f"}},
		{exitUsage, "-model perceptron on each node's own data needs -task", []string{"x", "-n", "2", "-data", "synthetic:clinical", "-deal=false", "-dim", "57", "-model", "perceptron"}},
		{exitUsage, "-label goes with -data only", []string{"x", "-n", "2", "-dim", "5", "-oneshot", "a {sample}", "-label", "y"}},
		{exitUsage, "-deal goes with -data only", []string{"x", "-n", "2", "-dim", "5", "-oneshot", "a {sample}", "-deal"}},
		{exitUsage, "-label is missing", []string{"x", "-n", "2", "-data", "csv:f"}},
		{exitFailed, "none.csv", []string{"x", "-n", "2", "-data", "csv:none.csv", "-label", "y"}},
		{exitUsage, "-non-private and -epsilon exclude each other", []string{"x", "-n", "2", "-non-private", "-epsilon", "3"}},
		{exitUsage, "-gain is 1", []string{"x", "-n", "2", "-gain", "1"}},
		{exitUsage, "-dataset names the data of ledgers", []string{"x", "-n", "2", "-non-private", "-dataset", "d"}},
		{exitUsage, `-run is "\x01", want 1..64 bytes`, []string{"x", "-n", "2", "-run", "\x01"}},
		{exitUsage, "pathological", []string{"x", "-n", "2", "-partition", "pathological:0"}},
		{exitUsage, "none.txt", []string{"x", "-members", "none.txt"}},
		{exitUsage, "has no members", []string{"x", "-members", write("empty.txt", "# nobody\n")}},
		{exitUsage, "junk.txt:2: ", []string{"x", "-dim", "5", "-members", write("junk.txt", line+"{\"name\": 3}\n")}},
		{exitUsage, "after top-level value", []string{"x", "-dim", "5", "-members", write("two.txt", strings.TrimSpace(line)+other)}},
		{exitUsage, `unknown field "secret"`, []string{"x", "-dim", "5", "-members", write("odd.txt", `{"name":"a","secret":"x"}`)}},
		{exitUsage, "has 0, want 1 or 2", []string{"x", "-dim", "5", "-members", write("keyless.txt", `{"name":"a","keys":[]}`)}},
		{exitUsage, "nobody in", []string{"x", "-dim", "5", "-members", write("nowhere.txt", line+other)}},
		{exitUsage, "for flag -stream: want a program and its arguments", []string{"x", "-n", "2", "-dim", "5", "-stream", `run "a`}},
		{exitUsage, "-nats is not of the form tls://host:port", []string{"x", "-n", "2", "-nats", "broker:4222"}},
		{exitUsage, "-nats has a user in it", []string{"x", "-n", "2", "-nats", "tls://me:secret@broker:4222"}},
		{exitUsage, "-hosts, -port and -nats exclude each other", []string{"x", "-n", "2", "-nats", "tls://broker:4222", "-port", "7000"}},
		{exitUsage, `-hosts: "a" has an address`, []string{"x", "-dim", "5", "-hosts", "h:1", "-members", write("placed.txt", placed)}},
		{exitUsage, "which is members[0].keys[0] already", []string{"x", "-dim", "5", "-hosts", "h:1,h:2", "-members", write("twin.txt", line+strings.Replace(line, `"a"`, `"b"`, 1))}},
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
		{exitUsage, "no file given, want spade-edge status NODEFILE [-watch] [-json]", []string{"status"}},
		{exitUsage, "no file given, want spade-edge stop NODEFILE [-timeout T] [-fleet [-round L]] [-json]", []string{"stop", "-json"}},
		{exitUsage, "-round is 3, want 1 or more, with -fleet", []string{"stop", "node.json", "-round", "3"}},
		{exitUsage, "-round is 0, want 1 or more, with -fleet", []string{"stop", "node.json", "-fleet", "-round", "0"}},
		{exitUsage, "-timeout does not go with -fleet", []string{"stop", "node.json", "-fleet", "-timeout", "3s"}},
		{exitUsage, "a node file: ", []string{"status", tr.path("none.json")}},
		{exitUsage, "a node file: ", []string{"stop", tr.path("none.json")}},
		{exitUsage, "not defined: -fast", []string{"status", tr.path("a.json"), "-fast"}},
		{exitUsage, "-timeout is 0s, want more than 0", []string{"stop", tr.path("a.json"), "-timeout", "0"}},
		{exitUsage, `-http: monitor: "0.0.0.0:80", want host:port on loopback`, []string{"run", tr.path("a.json"), "-http", "0.0.0.0:80"}},
		{exitUsage, `-http: monitor: ":8080", want host:port on loopback`, []string{"demo", "-http", ":8080"}},
	})
}
