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

// These are the kinds of files that users often confuse with each other. The texts appear in error messages.
const (
	fleetFile, nodeFile, modelFile, taskFile = "a fleet file", "a node file", "a model file", "a task file"
	certificateFile, ledger, table, folder   = "a certificate", "a ledger", "a table (CSV)", "a folder"
)

// marks lists the fields that identify each kind of file: no other kind has all of these fields.
var marks = map[string][]string{
	fleetFile: {"members", "graph"}, nodeFile: {"fleet", "key", "oracle"}, certificateFile: {"adjacency", "releases"},
	modelFile: {"model", "model_sha256"}, taskFile: {"columns", "model", "fitted_on"}, ledger: {"ledger", "dataset", "created"},
}

// wanted maps a flag, a command or the usual name of a file to a kind of file.
var wanted = map[string]string{
	"-verify": certificateFile, "-fleet": fleetFile, "-ledger": ledger, "-task": taskFile, "-data": table, "-new": fleetFile,
	"fleet.json": fleetFile, "node.json": nodeFile, "run": nodeFile, "check": nodeFile, "status": nodeFile, "stop": nodeFile, "export": nodeFile, "predict": modelFile, "evaluate": modelFile,
}

// kindOf determines the kind of a file from its first bytes. It returns "" if the kind is unknown.
func kindOf(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() { // a pipe can be read only once
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
	head, _ := io.ReadAll(io.LimitReader(file, 1<<20)) // the command itself reports read errors
	if bytes.HasPrefix(head, []byte("-----BEGIN PRIVATE KEY")) {
		return "a secret key"
	}
	dec, fields := json.NewDecoder(bytes.NewReader(head)), map[any]bool{}
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		if line, _, ok := bytes.Cut(head, []byte("\n")); ok && bytes.ContainsAny(line, ",;\t") && !bytes.ContainsAny(line, "\x00{[") {
			return table
		}
		return ""
	}
	for value := (json.RawMessage{}); err == nil && dec.More(); {
		var name any
		name, err = dec.Token()
		fields[name] = true
		if err == nil {
			err = dec.Decode(&value)
		}
	}
	for kind, all := range marks {
		if !slices.ContainsFunc(all, func(name string) bool { return !fields[name] }) {
			return kind
		}
	}
	return ""
}

// checkKinds returns an error if a file on the command line is not of the kind that its flag or command takes. If the
// same folder has a file of the right kind, the error names it.
func (c *Cmdline) checkKinds() error {
	err := Mistaken(c.Name(), c.file)
	c.Visit(func(f *flag.Flag) {
		path := f.Value.String()
		if f.Name == "data" {
			scheme, rest, colon := strings.Cut(path, ":")
			if kind := kindOf(path); err == nil && !colon && (kind == table || kind == folder) {
				err = Usage("-data %s needs a prefix, because the path is %s: want -data csv:%[1]s for a table, or "+
					"-data idx:%[1]s for a folder of IDX files", path, kind)
			}
			if path = rest; scheme != "csv" || kindOf(rest) == folder {
				return
			}
		}
		if err == nil && filepath.Ext(path) != ".jsonl" { // a .jsonl file has evidence, which has no kind
			err = Mistaken("-"+f.Name, path)
		}
	})
	return err
}

// Mistaken returns an error if the file at path is not of the kind that a flag or a command takes, or that usually has
// the given name.
func Mistaken(what, path string) error {
	want, kind := wanted[what], kindOf(path)
	if kind == "" || want == "" || kind == want {
		return nil
	}
	text, dir := fmt.Sprintf("%s is %s, want %s", path, kind, want), path
	if kind != folder {
		dir = filepath.Dir(path)
	}
	for _, pattern := range []string{"*.json", "*/*.json", "*/state/*.json", "state/*.json", "../*.json"} {
		near, _ := filepath.Glob(filepath.Join(dir, pattern)) // fails if the folder's name has special characters
		if i := slices.IndexFunc(near, func(p string) bool { return kindOf(p) == want }); i >= 0 {
			return Usage("%s, such as %s", text, near[i])
		}
	}
	return Usage("%s", text)
}
