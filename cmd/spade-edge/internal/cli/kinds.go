package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The kinds of files that people take for each other, and folders.
const (
	fleetFile   = "a fleet file"
	nodeFile    = "a node file"
	certificate = "a certificate"
	modelFile   = "a model file"
	taskFile    = "a task file"
	ledgerFile  = "a ledger"
	table       = "a table (CSV)"
	folder      = "a folder"
)

// marks are fields that files of a kind have, and others do not have together. A ledger has an object in each line.
var marks = []struct {
	kind   string
	fields []string
}{
	{fleetFile, []string{"members", "graph"}}, {nodeFile, []string{"fleet", "key", "oracle"}},
	{certificate, []string{"adjacency", "releases"}}, {modelFile, []string{"model", "model_sha256"}},
	{taskFile, []string{"columns", "model", "fitted_on"}}, {ledgerFile, []string{"ledger", "dataset", "created"}},
}

// wanted are the kinds that a flag, or the file of a command, can be.
var wanted = map[string][]string{
	"-verify": {certificate}, "-fleet": {fleetFile}, "-ledger": {ledgerFile}, "-task": {taskFile}, "-data": {table, folder},
	"run": {nodeFile}, "check": {nodeFile}, "status": {nodeFile}, "stop": {nodeFile}, "export": {nodeFile},
	"predict": {modelFile}, "evaluate": {modelFile},
}

// kindOf returns what a file is, by its first bytes; empty if that is not known.
func kindOf(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() { // a pipe may be read once
		return ""
	}
	if info.IsDir() {
		return folder
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, 1<<20)) // what is missing, the command reports
	if bytes.HasPrefix(head, []byte("-----BEGIN PRIVATE KEY")) {
		return "a secret key"
	}
	dec := json.NewDecoder(bytes.NewReader(head))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		if line, _, ok := bytes.Cut(head, []byte("\n")); ok && bytes.ContainsAny(line, ",;\t") && !bytes.ContainsAny(line, "\x00{[") {
			return table
		}
		return ""
	}
	fields := map[string]bool{}
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if text, ok := name.(string); err == nil && ok {
			fields[text] = true
		}
		if err != nil || dec.Decode(&value) != nil {
			break
		}
	}
	for _, m := range marks {
		if !slices.ContainsFunc(m.fields, func(f string) bool { return !fields[f] }) {
			return m.kind
		}
	}
	return ""
}

// mistaken reports that something is known to be a file of another kind than is wanted, and which one near it would do.
func mistaken(what, path string) error {
	want, kind := wanted[what], kindOf(path)
	if kind == "" || want == nil || slices.Contains(want, kind) || what == "-verify" && filepath.Ext(path) == ".jsonl" {
		return nil
	}
	if what == "-data" && kind != folder {
		want = want[:1]
	}
	text := fmt.Sprintf("%s is %s, want %s", path, kind, want[0])
	dir := path
	if kind != folder {
		dir = filepath.Dir(path)
	}
	for _, pattern := range []string{"*.json", "*/*.json", "*/state/certificate.json", "state/certificate.json", "../*.json"} {
		near, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is well formed, unless the folder's name is odd
		if i := slices.IndexFunc(near, func(p string) bool { return kindOf(p) == want[0] }); i >= 0 {
			return Usage("%s, such as %s", text, near[i])
		}
	}
	return Usage("%s", text)
}

// checkKinds reports the first file of a command line that is of another kind than is wanted.
func (c *Cmdline) checkKinds() error {
	if err := mistaken(c.Name(), c.file); err != nil {
		return err
	}
	var err error
	c.Visit(func(f *flag.Flag) {
		path := f.Value.String()
		scheme, rest, colon := strings.Cut(path, ":")
		switch {
		case err != nil || f.Name == "data" && colon && scheme != "csv":
			return
		case f.Name == "data" && colon:
			path = rest
		case f.Name == "data" && kindOf(path) == table:
			err = Usage("-data %s is %s; you want -data csv:%[1]s", path, table)
			return
		case f.Name == "data" && kindOf(path) == folder:
			err = Usage("-data %s is %s; you want -data idx:%[1]s if it has IDX files, or -data csv:FILE", path, folder)
			return
		}
		err = mistaken("-"+f.Name, path)
	})
	return err
}
