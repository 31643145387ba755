package fleetfile

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/transport"
)

// nodeText is a node file in which everything is given.
const nodeText = `{
  "version": 1,
  "name": "a",
  "fleet": "fleet.json",
  "key": "/etc/spade/node.key",
  "listen": "0.0.0.0:7443",
  "state": "state/",
  "ledger": "../ledger.json",
  "oracle": {"builtin": {"fit": "own", "model": "softmax", "data": "csv:data/patients.csv", "label": "outcome", ` +
	`"drop": ["id"], "onehot": ["ward"],
    "labels": ["no", "yes"], "pca": 4, "standardize": false, "bias": true, "test_fraction": 0.25, "seed": 3,
    "share": {"partition": "dirichlet:0.1", "of": 8, "number": 3}}},
  "http": "127.0.0.1:0",
  "table": "seeded",
  "memory_limit": 700,
  "memory": "forgotten",
  "average": true,
  "linger_seconds": 1.5,
  "resend_seconds": 2
}`

func TestNode(t *testing.T) {
	n, err := ParseNode([]byte(nodeText), "dir")
	if err != nil {
		t.Fatal(err)
	}
	key := "/etc/spade/node.key"
	if runtime.GOOS == "windows" {
		key = filepath.Join("dir", key) // without a drive it is no absolute path there
	}
	if n.Name != "a" || n.Fleet != filepath.Join("dir", "fleet.json") || n.Key != key || n.Listen != "0.0.0.0:7443" ||
		n.State != filepath.Join("dir", "state") || n.Ledger != "ledger.json" || n.HTTP != "127.0.0.1:0" ||
		!n.SeededTable || n.MemoryLimit != 700 || !n.Forget || !n.Average || n.Linger != 1500*time.Millisecond || n.ResendAfter != 2*time.Second {
		t.Errorf("node %+v", n)
	}
	b := n.Oracle.Builtin
	if b == nil || n.Oracle.Stream != nil || n.Oracle.OneShot != nil {
		t.Fatalf("oracle %+v", n.Oracle)
	}
	s := b.Spec
	if !b.FitOwn || b.Model != (task.ModelSpec{Name: "softmax"}) {
		t.Errorf("builtin %+v", b)
	}
	if s.Source != "csv:"+filepath.Join("dir", "data", "patients.csv") || s.Label != "outcome" ||
		!reflect.DeepEqual(s.Drop, []string{"id"}) ||
		!reflect.DeepEqual(s.OneHot, []string{"ward"}) || !reflect.DeepEqual(s.Labels, []string{"no", "yes"}) || s.PCA != 4 ||
		s.Standardize == nil || *s.Standardize || s.Bias == nil || !*s.Bias || s.TestFraction != 0.25 || s.Seed != 3 {
		t.Errorf("spec %+v", s)
	}
	if b.Share == nil || b.Share.Of != 8 || b.Share.Number != 3 || b.Share.Partition.String() != "dirichlet:0.1" {
		t.Errorf("share %+v", b.Share)
	}
	for text, want := range map[string]Oracle{
		`{"stream": ["./scorer", ""], "workers": 2, "format": "cbor", "timeout_seconds": 1.5, "start_seconds": 60, ` +
			`"memory_mib": 512, "environment": ["PYTHONPATH"]}`: {Stream: &scorer.StreamConfig{
			Program: scorer.Program{Command: []string{"./scorer", ""}, Dir: "dir", Workers: 2, Timeout: 1500 * time.Millisecond,
				Memory: 512 << 20, Environment: []string{"PYTHONPATH"}},
			Format: scorer.CBOR, Start: time.Minute}},
		`{"stream": ["scorer"]}`: {Stream: &scorer.StreamConfig{Program: scorer.Program{Command: []string{"scorer"},
			Dir: "dir", Workers: 1}}},
		`{"oneshot": ["./scorer", "-x", "{sample}"], "samples": 120, "workers": 3, "timeout_seconds": 2, "memory_mib": 1}`: {
			OneShot: &scorer.OneShotConfig{
				Program: scorer.Program{Command: []string{"./scorer", "-x", "{sample}"}, Dir: "dir", Workers: 3,
					Timeout: 2 * time.Second, Memory: 1 << 20},
				Samples: 120}},
		`{"builtin": {"data": "csv:/x", "seed": 2}}`: {Builtin: &Builtin{Spec: task.Spec{Source: "csv:" + resolve("", "/x"),
			Seed: 2}}},
	} {
		n, err := ParseNode([]byte(`{"version":1,"name":"a","fleet":"f","key":"k","state":"s","oracle":`+text+`}`), "dir")
		if err != nil || !reflect.DeepEqual(n.Oracle, want) {
			t.Errorf("oracle %+v, %v, want %+v", n.Oracle, err, want)
		}
	}
}

func TestNodeFaults(t *testing.T) {
	start := strings.Index(nodeText, `{"builtin"`)
	oracle := nodeText[start : start+strings.Index(nodeText[start:], "\n  \"http\"")]
	oracle = strings.TrimSuffix(oracle, ",")
	for _, c := range []change{
		one("", "{", "unexpected end of JSON input"),
		one("", "7", "the file is 7, want a node file, an object"),
		one("", "{}", "version is missing").and("name is missing").and("fleet is missing").and("key is " +
			"missing").and("state is missing").and("oracle is missing"),
		one(`"version": 1`, `"version": 3`, "version is 3, want 1"),
		one(`"name": "a"`, `"name": []`, "name is an array, want a name of 1..64 bytes"),
		one(`"name": "a"`, `"name": "a", "members": []`, "members is unknown, want only version, name, fleet, key,"),
		one(`"fleet": "fleet.json"`, `"fleet": ""`, `fleet is "", want a path`),
		one(`"key": "/etc/spade/node.key"`, `"key": "a\u0000b"`, "key is").mend("want a path"),
		one(`"listen": "0.0.0.0:7443"`, `"listen": "7443"`, `listen is "7443", want host:port`),
		one(`"listen": "0.0.0.0:7443"`, `"listen": ":70000"`, `listen is ":70000", want host:port`),
		one(`"listen": "0.0.0.0:7443"`, `"listen": null`, "listen is null, want host:port"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {}`, "transport.nats is missing"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": "nats"`, `transport is "nats", want {"nats": "tls://host:port"}`),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "tls://x", "user": "me"}`,
			"transport.user is unknown, want only credentials, nkey_file, user_file, token_file, certificate_file, "+
				"certificate_key_file, ca_file, nats"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "https://x"}`,
			"transport.nats is not of the form tls://host:port"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "tls://x/path"}`,
			"transport.nats is not of the form tls://host:port"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "tls://x", "token_file": "t", "user_file": "u"}`,
			"transport has 2 of credentials, nkey_file, user_file and token_file, want at most one"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "tls://x", "certificate_file": "c.pem"}`,
			"transport has one of certificate_file and certificate_key_file, want both or none"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "ws://x", "ca_file": "ca.pem"}`,
			"transport.nats is ws://, want tls:// or wss://"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "nats://x:1", "credentials": 7}`,
			"transport.credentials is 7, want a path"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "tls://me:secret@x"}`, "transport.nats has a user in it"),
		one(`"listen": "0.0.0.0:7443"`, `"proxy": "ftp://p:1"`, "proxy is not the URL of a proxy: want http://host:port"),
		one(`"listen": "0.0.0.0:7443"`, `"proxy": "http://p:1/path"`, "want nothing but a host and a port after http://"),
		one(`"listen": "0.0.0.0:7443"`, `"proxy": "http://me:secret@p"`, "proxy has a user in it"),
		one(`"listen": "0.0.0.0:7443"`, `"proxy": "http://me:secret@%"`, "proxy is not a URL"),
		one(`"listen": "0.0.0.0:7443"`, `"proxy": ""`, `proxy is "", want http://host:port`),
		one(`"listen": "0.0.0.0:7443"`, `"proxy_credentials": "p.txt"`, "want it left out: there is no proxy"),
		one(`"listen": "0.0.0.0:7443"`, `"listen": ":1", "transport": {"nats": "tls://x"}`,
			`listen is ":1", want it left out`),
		one(`"state": "state/"`, `"state": false`, "state is false, want a path"),
		one(`"ledger": "../ledger.json"`, `"ledger": ""`, `ledger is "", want a path`),
		one(`"http": "127.0.0.1:0"`, `"http": "0.0.0.0:80"`, `http is "0.0.0.0:80", want host:port on loopback`),
		one(`"http": "127.0.0.1:0"`, `"http": ":80"`, "want host:port on loopback"),
		one(`"http": "127.0.0.1:0"`, `"http": "10.0.0.1:80"`, "want host:port on loopback"),
		one(`"table": "seeded"`, `"table": "round"`, `table is "round", want dense or seeded`),
		one(`"average": true`, `"average": "yes"`, `average is "yes", want true or false`),
		one(`"memory_limit": 700`, `"memory_limit": 0`, "memory_limit is 0, want a whole number, 1.."),
		one(`"memory": "forgotten"`, `"memory": "lost"`, `memory is "lost", want kept or forgotten`),
		one(`"linger_seconds": 1.5`, `"linger_seconds": 0`, "linger_seconds is 0, want a number of seconds, 0.001..604800"),
		one(`"resend_seconds": 2`, `"resend_seconds": "2s"`, `resend_seconds is "2s", want a number of seconds`),
		one(`"resend_seconds": 2`, `"patience": 900`, "patience is 900, want a duration of at least 2m0s"),
		one(`"resend_seconds": 2`, `"patience": "1m59s"`, `patience is "1m59s", want a duration of at least 2m0s`),
		// the oracle
		one(oracle, `"builtin"`, `oracle is "builtin", want one of`),
		one(oracle, `{}`, "oracle has 0 of builtin, stream and oneshot"),
		one(oracle, `{"oneshot": ["a", "{sample}"], "stream": ["b"], "samples": 1}`,
			"oracle has 2 of builtin, stream and oneshot, want one of"),
		one(oracle, `{"oneshot": []}`,
			"oracle.oneshot names no program").and("oracle.samples is missing, want a whole number, 1..2147483647"),
		one(oracle, `{"oneshot": "./scorer", "samples": 1}`, `oracle.oneshot is "./scorer", want an array of strings`),
		one(oracle, `{"oneshot": ["./scorer", "{sample}", 7], "samples": 1}`, "oracle.oneshot[2] is 7, want a string"),
		one(oracle, `{"oneshot": ["./scorer", "{params}"], "samples": 0}`,
			"oracle.samples is 0, want a whole number, 1..2147483647").
			and(`oracle.oneshot: scorer: Command is ["./scorer" "{params}"], want an argument with {sample}`),
		one(oracle, `{"stream": [""]}`, "oracle.stream names no program"),
		one(oracle, `{"stream": ["a"], "workers": 0}`, "oracle.workers is 0, want a whole number, 1..1024"),
		one(oracle, `{"stream": ["a"], "format": "xml", "start_seconds": 0, "timeout_seconds": "1", "memory_mib": 0}`,
			`oracle.timeout_seconds is "1", want a number of seconds`).
			and("oracle.memory_mib is 0, want a whole number, 1..2147483647").and(`oracle.format is "xml", want json, base64 or cbor`).
			and("oracle.start_seconds is 0, want a number of seconds, 0.001..604800"),
		one(oracle, `{"stream": ["a"], "samples": 7}`, "oracle.samples is 7, want it left out: only a oneshot has that"),
		one(oracle, `{"oneshot": ["a", "{sample}"], "samples": 7, "format": "json", "start_seconds": 1}`,
			`oracle.format is "json", want it left out: only a stream has that`).
			and("oracle.start_seconds is 1, want it left out: only a stream has that"),
		one(`"seed": 3,`, `"seed": 3}, "workers": 2, "builtin_": {`,
			"oracle.workers is 2, want it left out: only a program has that").and("oracle.builtin_ is unknown"),
		one(oracle, `{"grpc": "x"}`,
			"oracle has 0 of").and("oracle.grpc is unknown, want only builtin, stream, oneshot, format, samples, " +
			"start_seconds, workers, timeout_seconds, memory_mib, environment"),
		one(oracle, `{"builtin": {}}`, "oracle.builtin.data is missing, want idx:DIR"),
		one(oracle, `{"builtin": {"fit": "own"}}`,
			"oracle.builtin.data is missing, want idx:DIR").and("oracle.builtin.model is missing, want softmax, perceptron or linear"),
		one(oracle, `{"builtin": {"data": "csv:x"}, "stream": ["a"]}`, "oracle has 2 of builtin"),
		one(oracle, `{"builtin": {"data": "x"}}`, `oracle.builtin: task: data "x", want idx:DIR, csv:FILE or`),
		one(oracle, `{"builtin": {"data": "csv:x", "model": "softmax", "bias": true, "color": "red"}}`,
			`oracle.builtin.model is "softmax", want it left out: the task in the fleet file says so for all nodes, unless `+
				`there is "fit": "own"`).
			and("oracle.builtin.bias is true, want it left out").and("oracle.builtin.color is unknown, want only data, " +
			"test_fraction, seed, share, fit, model"),
		// the built-in one
		one(`"fit": "own"`, `"fit": "all"`,
			`oracle.builtin.fit is "all", want own`).and("model is").and("label is").and("drop is").and("onehot " +
			"is").and("labels is").
			and("pca is").and("standardize is").and("bias is"),
		one(`"model": "softmax"`, `"model": "cnn"`, `oracle.builtin.model is "cnn", want softmax, perceptron or linear`),
		one(`"model": "softmax"`, `"model": "softmax", "hidden": 3`,
			`oracle.builtin.hidden is 3, want it left out: softmax has no hidden units`),
		one(`"model": "softmax"`, `"model": "perceptron"`, `oracle.builtin.hidden is missing, want a whole number, 1..256`),
		one(`"model": "softmax"`, `"model": "perceptron", "hidden": 257`,
			`oracle.builtin.hidden is 257, want a whole number, 1..256`),
		one(`"data": "csv:data/patients.csv"`, `"data": "patients.csv"`,
			`oracle.builtin: task: data "patients.csv", want idx:DIR`).and(`label "outcome"`),
		one(`"data": "csv:data/patients.csv"`, `"data": "csv:"`, `names nothing behind the colon`),
		one(`"label": "outcome",`, ``, "oracle.builtin: task: label is missing"),
		one(`"drop": ["id"]`, `"drop": ["outcome"]`,
			`oracle.builtin: task: drop "outcome": that column is already in label`),
		one(`"drop": ["id"]`, `"drop": "id"`,
			`oracle.builtin.drop is "id", want an array of strings, each the name of a column`),
		one(`"labels": ["no", "yes"]`, `"labels": ["no"]`, `oracle.builtin: task: labels ["no"], want at least two`),
		one(`"pca": 4`, `"pca": -4`, "oracle.builtin.pca is -4, want a whole number, 0.."),
		one(`"standardize": false`, `"standardize": 0`, "oracle.builtin.standardize is 0, want true or false"),
		one(`"bias": true`, `"bias": "on"`, `oracle.builtin.bias is "on", want true or false`),
		one(`"test_fraction": 0.25`, `"test_fraction": 1`,
			"oracle.builtin.test_fraction is 1, want a number above 0 and below 1"),
		one(`"seed": 3`, `"seed": -3`, "oracle.builtin.seed is -3, want a whole number, 0.."),
		one(`"seed": 3`, `"sead": 3`,
			"oracle.builtin.sead is unknown, want only data, test_fraction, seed, share, fit, model, hidden, label,"),
		one(`"partition": "dirichlet:0.1"`, `"partition": "dirichlet"`,
			"oracle.builtin.share.partition: task: partition dirichlet"),
		one(`"of": 8`, `"of": 0`, "oracle.builtin.share.of is 0, want a whole number, 1.."),
		one(`"number": 3`, `"number": 8`, "oracle.builtin.share.number is 8, want a whole number, 0..7"),
		one(`, "number": 3`, ``, "oracle.builtin.share.number is missing, want a whole number, 0..7"),
		one(`"share": {"partition": "dirichlet:0.1", "of": 8, "number": 3}`, `"share": "3/8"`,
			`oracle.builtin.share is "3/8", want {"partition"`),
	} {
		c.check(t, nodeText, func(s string) error { _, err := ParseNode([]byte(s), "dir"); return err })
	}
}

// A node, its fleet and its key are loaded together; what does not fit between them is told as well, all at once.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pin, err := CreateKey(filepath.Join(dir, "c.key"))
	if err != nil {
		t.Fatal(err)
	}
	private, open := sample(), sample()
	private.Members[2].Keys[0] = pin
	open.Members[2].Keys[0] = pin
	open.Fleet.Privacy, open.Fleet.Wire = plain().Fleet.Privacy, plain().Fleet.Wire
	private.X0File, open.X0File = "x0", "x0 again"
	for name, f := range map[string]*File{"private.json": private, "open.json": open} {
		if err := f.Write(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write("broken.json", "{}")
	node := func(name, fleet, key, more string) *Node {
		t.Helper()
		write("node.json", fmt.Sprintf(
			`{"version": 1, "name": %q, "fleet": %q, "key": %q, "state": "s", "oracle": {"oneshot": ["x", "{sample}"], `+
				`"samples": 1}%s}`, name, fleet, key, more))
		n, err := ReadNode(filepath.Join(dir, "node.json"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, good := range []*Node{
		node("c", "private.json", "c.key", `, "listen": ":0", "ledger": "l"`),
		node("c", "open.json", "c.key", `, "listen": ":0"`),
		node("c", "open.json", "c.key", `, "transport": {"nats": "tls://x"}`),
	} {
		f, key, err := good.Load()
		if err != nil {
			t.Fatal(err)
		}
		if !key.Public().(ed25519.PublicKey).Equal(f.Members[2].Keys[0]) || len(f.Peers("c")) != 1 || f.Fleet.Dim != 3 {
			t.Errorf("fleet %+v and the key of %x", f, key.Public())
		}
	}
	for _, c := range []struct {
		node *Node
		want []string
	}{
		{node("c", "private.json", "c.key", `, "listen": ":0"`), []string{ErrNoLedger.Error()}},
		{node("c", "open.json", "c.key", `, "listen": ":0", "ledger": "l"`),
			[]string{"want it left out: the fleet is not private"}},
		{node("c", "private.json", "c.key", ``), []string{"listen is missing", "ledger is missing"}},
		{node("b", "open.json", "c.key", `, "listen": ":0"`),
			[]string{transport.FormatKey(pin) + ", but the fleet file has " + transport.FormatKey(pinOf("b"))}},
		{node("d", "open.json", "c.key", ``), []string{`"d" is not a member`}},
		{node("c", "broken.json", "none.key", ``), []string{"broken.json: run is missing", "none.key"}},
	} {
		_, _, err := c.node.Load()
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		}
	}
	if _, err := ReadNode(filepath.Join(dir, "no.json")); err == nil {
		t.Error("no node file was enough")
	}
}
