package builtin

import (
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	_ "github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
)

// nodeText is a node file that sets every field.
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
  "memory_limit": 700,
  "linger_seconds": 1.5,
  "resend_seconds": 2
}`

func TestNode(t *testing.T) {
	n, err := fleetfile.ParseNode([]byte(nodeText), "dir")
	if err != nil {
		t.Fatal(err)
	}
	key := "/etc/spade/node.key"
	if runtime.GOOS == "windows" {
		key = filepath.Join("dir", key) // on Windows a path without a drive is not absolute
	}
	if n.Name != "a" || n.Fleet != filepath.Join("dir", "fleet.json") || n.Key != key || n.Listen != "0.0.0.0:7443" ||
		n.State != filepath.Join("dir", "state") || n.Ledger != "ledger.json" || n.HTTP != "127.0.0.1:0" ||
		n.MemoryLimit != 700 || n.Linger != 1500*time.Millisecond || n.ResendAfter != 2*time.Second {
		t.Errorf("node %+v", n)
	}
	b := Of(n)
	if b == nil {
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
	for text, want := range map[string]fleetfile.Oracle{
		`{"stream": ["./scorer", ""], "workers": 2, "format": "cbor", "timeout_seconds": 1.5, "start_seconds": 60, ` +
			`"environment": ["PYTHONPATH"]}`: &fleetfile.Stream{
			Program: scorer.Program{Command: []string{"./scorer", ""}, Dir: "dir", Workers: 2, Timeout: 1500 * time.Millisecond,
				Environment: []string{"PYTHONPATH"}},
			Format: scorer.CBOR, Start: time.Minute},
		`{"stream": ["scorer"]}`:                     &fleetfile.Stream{Program: scorer.Program{Command: []string{"scorer"}, Dir: "dir", Workers: 1}},
		`{"builtin": {"data": "csv:/x", "seed": 2}}`: &Oracle{Spec: task.Spec{Source: "csv:" + fleetfile.Resolve("", "/x"), Seed: 2}},
	} {
		n, err := fleetfile.ParseNode([]byte(`{"version":1,"name":"a","fleet":"f","key":"k","state":"s","oracle":`+text+`}`), "dir")
		if err != nil || !reflect.DeepEqual(n.Oracle, want) {
			t.Errorf("oracle %+v, %v, want %+v", n.Oracle, err, want)
		}
	}
}

// TestNodeFaults checks errors that wrong-nodefile.txtar, beside the transcripts, does not have.
func TestNodeFaults(t *testing.T) {
	start := strings.Index(nodeText, `{"builtin"`)
	oracle := nodeText[start : start+strings.Index(nodeText[start:], "\n  \"http\"")]
	oracle = strings.TrimSuffix(oracle, ",")
	for _, c := range []change{
		one("", "7",
			`the file: found number, want an object`),
		one("", "{}",
			`version is missing, want 1`),
		one(`"listen": "0.0.0.0:7443"`, `"listen": null`,
			`line 6 has null: give a value, or omit the field`),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {}`,
			`transport has the fields [], want exactly one of the kinds that this program supports: mqtt, nats`),
		one(`"listen": "0.0.0.0:7443"`, `"transport": "nats"`,
			`transport is "nats", want an object`),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "tls://x", "user": "me"}`,
			`transport: unknown field "user"`),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"mqtt": "nats://x"}`, "transport.mqtt is not of the form tls://host:port"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"mqtt": "mqtt://x", "ca_file": "x"}`, "because transport has certificates"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "https://x"}`,
			"transport.nats is not of the form tls://host:port"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "tls://x/path"}`,
			"transport.nats is not of the form tls://host:port"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "tls://x", "token_file": "t", "user_file": "u"}`,
			"transport has 2 of the fields credentials, nkey_file, user_file and token_file, want at most one"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "tls://x", "certificate_file": "c.pem"}`,
			"transport has only one of certificate_file and certificate_key_file, want both or neither"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "ws://x", "ca_file": "ca.pem"}`,
			"transport.nats is ws://, want tls:// or wss://"),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "nats://x:1", "credentials": 7}`,
			`transport: credentials: found number, want a string`),
		one(`"listen": "0.0.0.0:7443"`, `"transport": {"nats": "tls://me:secret@x"}`, "transport.nats contains a user name"),
		one(`"listen": "0.0.0.0:7443"`, `"proxy": "ftp://p:1"`, "proxy is not the URL of a proxy: want http://host:port"),
		one(`"listen": "0.0.0.0:7443"`, `"proxy": "http://p:1/path"`, "want only a host, with brackets if it is an IPv6 address, and a port after http://"),
		one(`"listen": "0.0.0.0:7443"`, `"proxy": "http://me:secret@p"`, "proxy contains a user name"),
		one(`"listen": "0.0.0.0:7443"`, `"proxy": "http://me:secret@%"`, "proxy is not a URL"),
		one(`"listen": "0.0.0.0:7443"`, `"proxy_credentials": "p.txt"`, "want the field omitted: there is no proxy"),
		one(`"listen": "0.0.0.0:7443"`, `"listen": ":1", "transport": {"nats": "tls://x"}`,
			`listen is ":1", want the field omitted`),
		one(`"resend_seconds": 2`, `"patience": 900`, "patience: found number, want a string"),
		one(`"resend_seconds": 2`, `"patience": "1m59s"`, `patience is "1m59s", want a duration of at least 2m0s`),
		one(`"memory_limit": 700`, `"memory_limit": 0`, "memory_limit is 0, want 1 byte or more"),
		// Errors in the section "oracle".
		one(oracle, `{"stream": [""]}`,
			`oracle.stream: scorer: Command is [""], want a program and its arguments`),
		one(oracle, `{"stream": ["x"], "workers": 2000, "timeout_seconds": -5}`,
			"oracle.workers is 2000, want a whole number, 1..1024").and("oracle.timeout_seconds is -5, want a number of seconds"),
		one(`"seed": 3,`, `"seed": 3}, "workers": 2, "builtin_": {`,
			`oracle: unknown field "workers"`),
		one(oracle, `{"builtin": {"fit": "own"}}`,
			`oracle.builtin: task: model "", want`).and(`oracle.builtin: task: data "", want idx:DIR, csv:FILE or synthetic:clinical`),
		// Errors in the built-in oracle.
		one(`"fit": "own"`, `"fit": "all"`,
			`oracle.builtin.fit is "all", want own`),
		one(`"model": "softmax"`, `"model": "softmax", "hidden": 3`,
			`oracle.builtin: task: model softmax has 3 hidden units, want none: it is a linear model`),
		one(`"model": "softmax"`, `"model": "perceptron", "hidden": 257`,
			`oracle.builtin: task: perceptron has 257 hidden units, want 1 to 256`),
		one(`"label": "outcome",`, ``, "oracle.builtin: task: label is missing"),
		one(`"drop": ["id"]`, `"drop": ["outcome"]`,
			`oracle.builtin: task: drop "outcome": that column is already in label`),
		one(`"drop": ["id"]`, `"drop": "id"`,
			`oracle: builtin.drop: found string, want an array`),
		one(`"labels": ["no", "yes"]`, `"labels": ["no"]`, `oracle.builtin: task: labels ["no"], want at least two`),
		one(`"pca": 4`, `"pca": -4`,
			`oracle.builtin: task: pca -4, want a number of components, or 0 for none`),
		one(`"seed": 3`, `"held_out": "csv:test.csv"`, `oracle.builtin.held_out is "csv:test.csv", want it omitted, or neither test_fraction nor share`),
		one(`"seed": 3`, `"seed": -3`,
			`oracle: builtin.seed: found number -3, want a whole number`),
		one(`"seed": 3`, `"sead": 3`,
			`oracle: unknown field "sead"`),
		one(`"partition": "dirichlet:0.1"`, `"partition": "dirichlet"`,
			`oracle: task: partition dirichlet: concentration "", want a number from 0.001 to 1e+06`),
		one(`"of": 8`, `"of": 0`,
			`oracle.builtin.share has number 3 and of 0, want of 1 or more`),
	} {
		c.check(t, nodeText, func(s string) error { _, err := fleetfile.ParseNode([]byte(s), "dir"); return err })
	}
}
