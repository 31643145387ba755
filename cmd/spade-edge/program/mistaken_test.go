package program

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// packagePrefix finds names of this module's packages, with which errors begin for programmers, in output for users.
var packagePrefix = sync.OnceValue(func() *regexp.Regexp {
	names := []string{"sdk", "zoest", "dpmech"}
	for _, root := range []string{"sdk", "zoest", "transport"} {
		err := filepath.WalkDir("../../../"+root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() != "testdata" && d.Name() != root {
				names = append(names, d.Name())
			}
			return err
		})
		if err != nil {
			panic(err)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { // also sections of a file, and a command
		return slices.Contains([]string{"graph", "wire", "plan", "scorer"}, name)
	})
	return regexp.MustCompile(`(?m)(^|: |; |["(])(` + strings.Join(names, "|") + `): `)
})

// plain checks that the output names no package.
func plain(t *testing.T, text string) {
	t.Helper()
	if found := packagePrefix().FindString(text); found != "" {
		t.Errorf("%q in what people read: %s", found, text)
	}
}

// For a file or folder of the wrong kind, the error names the kind and, if it is near, the right file.
func TestMistakenFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if code, _, log := call("init", at("trial"), "-n", "2", "-graph", "complete", "-unit", "record", "-epsilon", "1"); code != cli.ExitDone {
		t.Fatal(log)
	}
	for name, text := range map[string]string{
		"patients.csv": "age,ward,ill\n" + strings.Repeat("50,west,no\n60,east,yes\n40,north,no\n", 20), "broken.json": `{"members": [`, "empty": "",
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fleet, node, ledger := at("trial/fleet.json"), at("trial/node-0/node.json"), at("trial/node-0/ledger.json")
	for _, c := range []struct {
		want string
		args []string
	}{
		// before: fleetfile: trial/fleet.json: unknown field "run"
		{fleet + " is a fleet file, want a node file, such as " + node, []string{"run", fleet}},
		{fleet + " is a fleet file, want a node file, such as " + node, []string{"check", fleet}},
		{fleet + " is a fleet file, want a node file, such as " + node, []string{"status", fleet, "-json"}},
		// before: fleetfile: a node file: open trial/: is a folder, want a file
		{" is a folder, want a node file, such as " + node, []string{"run", at("trial") + "/"}},
		{" is a folder, want a node file, such as " + node, []string{"export", at("trial/node-0"), "-out", at("m.npy")}},
		{"node.key is a secret key, want a node file, such as " + node, []string{"run", at("trial/node-0/node.key")}},
		// before: dpmech: certificate: unknown field "dim"
		{fleet + " is a fleet file, want a certificate", []string{"privacy", "-verify", fleet}},
		// before: state: ledger trial/fleet.json: line 1: column 1: unexpected end of JSON input
		{fleet + " is a fleet file, want a ledger, such as " + ledger, []string{"privacy", "-ledger", fleet}},
		{node + " is a node file, want a fleet file, such as " + fleet, []string{"privacy", "-ledger", ledger, "-fleet", node}},
		{node + " is a node file, want a model file", []string{"predict", node, "-data", "csv:" + at("patients.csv")}},
		// before: -data "patients.csv", want idx:DIR, csv:FILE or synthetic:clinical
		{"want -data csv:" + at("patients.csv"), []string{"simulate", "-data", at("patients.csv"), "-label", "ill"}},
		{"-data idx:" + at("trial") + " for a folder", []string{"simulate", "-data", at("trial")}},
		{fleet + " is a fleet file, want a table (CSV)", []string{"simulate", "-data", "csv:" + fleet, "-label", "ill"}},
	} {
		code, text := said(c.args...)
		if code != cli.ExitUsage || !strings.Contains(text, c.want) || strings.Count(text, "\n") > 2 {
			t.Errorf("%q: exit code %d, want 64 with %q\n%s", c.args, code, c.want, text)
		}
		plain(t, text)
	}
	// The command itself reports an error in a file of unknown kind.
	for _, name := range []string{"broken.json", "empty", "none"} {
		if code, text := said("run", at(name)); code != cli.ExitUsage || strings.Contains(text, " is a ") {
			t.Errorf("%s: exit code %d, %s", name, code, text)
		}
	}
	// before: one line for each cell of the column
	code, text := said("simulate", "-data", "csv:"+at("patients.csv"), "-label", "ill")
	if want := `-onehot lacks "ward", which holds text in 60 lines`; code == cli.ExitDone || !strings.Contains(text, want) || strings.Count(text, "\n") > 2 {
		t.Errorf("exit code %d, want %q in two lines\n%s", code, want, text)
	}
	code, text = said("simulate", "-data", "csv:"+at("patients.csv"), "-label", "ward")
	if want := `-onehot lacks "ill", which holds text in 60 lines`; code == cli.ExitDone || !strings.Contains(text, want) ||
		!strings.Contains(text, "with two texts it may be the label") {
		t.Errorf("exit code %d, want %q and the label\n%s", code, want, text)
	}
}

// A word that is not a topic finds the pages that contain it.
func TestHelpByWord(t *testing.T) {
	code, text := said("help", "firewall")
	if code != cli.ExitDone || !strings.Contains(text, "\n  networks         firewalls, proxies") || !strings.Contains(text, "\n  troubleshooting ") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if code, text := said("help", "NAT"); code != cli.ExitDone || !strings.Contains(text, "-nats") || strings.Contains(text, "signature") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	for _, word := range []string{"xyzzy", "", "("} {
		if code, text := said("help", word); word != "(" && (code != cli.ExitUsage || !strings.Contains(text, "no topic")) {
			t.Errorf("%q: exit code %d\n%s", word, code, text)
		}
	}
}
