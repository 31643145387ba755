//go:build unix

package program

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"

	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// desk is the environment for running examples of the documentation: a folder with all files that they name, and a
// neighbor in another folder.
type desk struct {
	bin    string
	files  string // the files that every example has: data, the files of a node after a run, and the outputs of that run
	shared string // a copy of files, for all commands that change none
	fresh  string // the files of the node and its neighbor before their run

	mu  sync.Mutex
	own map[string]string // by command, a copy of files for its lines
}

// newDesk makes the files. The node of node.json is "a", its one neighbor is "b", and their run is private.
func newDesk(t *testing.T) *desk {
	t.Helper()
	dir := t.TempDir()
	d := &desk{bin: filepath.Join(dir, "bin"), files: filepath.Join(dir, "files"), fresh: filepath.Join(dir, "fresh"),
		shared: filepath.Join(dir, "shared"), own: map[string]string{}}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{d.bin, d.files} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(self, filepath.Join(d.bin, "spade-edge")); err != nil {
		t.Fatal(err)
	}
	d.makeData(t)
	d.makeFleet(t, filepath.Join(dir, "fleet"))
	copyAll(t, d.files, d.shared)
	return d
}

func (d *desk) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(d.files, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (d *desk) makeData(t *testing.T) {
	t.Helper()
	var csv strings.Builder
	csv.WriteString("id,ward,age,pressure,diagnosis\n")
	for i := range 400 {
		age, pressure := 20+i*37%60, 100+i*53%70
		outcome := "no"
		if age+pressure > 180 {
			outcome = "yes"
		}
		fmt.Fprintf(&csv, "%d,%s,%d,%d,%s\n", i, []string{"east", "west", "north"}[i%3], age, pressure, outcome)
	}
	for _, name := range []string{"patients.csv", "public.csv", "mine.csv", "hospitals/north.csv", "hospitals/south.csv", "hospitals/west.csv"} {
		d.write(t, name, csv.String())
	}
	d.write(t, "examples/patients.csv", readFile(t, "../../../examples/patients.csv"))
	d.write(t, "agreed.csv", "age,ill\n45,no\n65,yes\n,no\n")
	const n, side = 400, 6
	pixels, labels := make([]byte, n*side*side), make([]byte, n)
	for i := range labels {
		labels[i] = byte(5 + i%4)
		for j := range side * side {
			pixels[i*side*side+j] = byte(i*i*31 + j*j*(7+i%4))
		}
	}
	head := func(magic byte, dims ...uint32) string {
		b := []byte{0, 0, 8, magic}
		for _, v := range dims {
			b = binary.BigEndian.AppendUint32(b, v)
		}
		return string(b)
	}
	d.write(t, "mnist/images-idx3-ubyte", head(3, n, side, side)+string(pixels))
	d.write(t, "mnist/labels-idx1-ubyte", head(1, n)+string(labels))
	members := ""
	for i := range 3 {
		name := fmt.Sprintf("ward-%d", i+1)
		code, line, log := call("keygen", "-name", name, "-out", filepath.Join(t.TempDir(), "key"), "-address", name+".example:7443")
		if code != cli.ExitDone {
			t.Fatal(log)
		}
		members += line
		if i == 2 {
			d.write(t, "ward-3.txt", line)
		}
	}
	d.write(t, "members.txt", members)
	code, text, log := call("fit", "-data", "csv:"+filepath.Join(d.files, "public.csv"), "-label", "diagnosis", "-drop", "id", "-onehot", "ward", "-fitted-on", "a cohort")
	if code != cli.ExitDone {
		t.Fatal(log)
	}
	d.write(t, "task.json", text)
	recipe, err := builtin.ParseTask([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	model, err := (&builtin.Model{Run: "cohort", Member: "a", Round: 1, Rounds: 1, Task: recipe, Weights: make([]float32, recipe.Dim())}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, "model.json", string(model))
	for _, name := range []string{"new.csv", "test.csv", "patient.csv"} {
		d.write(t, name, csv.String())
	}
}

// makeFleet makes a fleet of two, saves a copy, runs the fleet, and adds the outputs of "a" to the files.
func (d *desk) makeFleet(t *testing.T, dir string) {
	t.Helper()
	var made fleet.InitResult
	into(t, &made, cli.ExitDone, "init", dir, "-nodes", "a,b", "-hosts", ownPort()+","+ownPort(), "-average", "-rounds", "4", "-cooldown", "2", "-tau", "1")
	for _, n := range made.Nodes {
		text := strings.Replace(readFile(t, n.File), "../fleet.json", "fleet.json", 1)
		text = strings.Replace(text, `"state":`, `"linger_seconds": 3, "resend_seconds": 0.05, "state":`, 1)
		for path, text := range map[string]string{n.File: text, filepath.Join(filepath.Dir(n.File), "fleet.json"): readFile(t, made.Fleet)} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	copyAll(t, dir, d.fresh)
	runFleet(t, made)
	copyAll(t, filepath.Join(dir, "a"), d.files)
	copyAll(t, dir, filepath.Join(d.files, "ward"))
	code, line, log := call("keygen", "-name", "a", "-out", filepath.Join(d.files, "ward", "a", "node2.key"))
	if code != cli.ExitDone {
		t.Fatal(log)
	}
	d.write(t, "a.txt", line)
	copyAll(t, filepath.Join(dir, "a", "state", "certificate.json"), filepath.Join(d.files, "certificate.json"))
	signFile(t, filepath.Join(d.files, "certificate.json"), filepath.Join(d.files, "fleet.json"), filepath.Join(d.files, "node.key"))
	file, err := fleetfile.Read(filepath.Join(d.files, "fleet.json"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := fleetfile.ReadKey(filepath.Join(dir, "b", "node.key"))
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, "state/journal.jsonl", journalOf(file.Fleet, "a", doubleOf(t, file.Fleet, "b", key, 2)))
	for _, end := range []string{"", ".mark"} {
		copyAll(t, filepath.Join(d.files, "ledger.json"+end), filepath.Join(d.files, "patients.ledger"+end))
	}
}

// sit returns a new folder with all files; with begin, the node's run has not started.
func (d *desk) sit(t *testing.T, begin bool) string {
	t.Helper()
	dir := t.TempDir()
	copyAll(t, d.files, dir)
	if begin {
		for _, old := range []string{"state", "ledger.json.neighbors"} { // its neighbor restarts without state
			if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
				t.Fatal(err)
			}
		}
		copyAll(t, filepath.Join(d.fresh, "a"), dir)
	}
	return dir
}

func (d *desk) neighbor(t *testing.T) *process {
	t.Helper()
	dir := t.TempDir()
	copyAll(t, filepath.Join(d.fresh, "b"), dir)
	return start(t, "run", filepath.Join(dir, "node.json"))
}

// shell runs shell lines in a folder, with the program in PATH. It returns the exit code and the output.
func (d *desk) shell(t *testing.T, dir, lines string) (code int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", lines)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asProgram+"=1", "PATH="+d.bin+":"+os.Getenv("PATH"), "HOME="+dir)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}
