package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

var update = flag.Bool("update", false, "write the files of patients")

// TestMain lets the test binary act as the hospitals' program, because nearly all of the time of a run is that of score.py.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != "score.py" {
		os.Exit(m.Run())
	}
	patients, err := os.ReadFile(os.Args[2])
	if err != nil {
		os.Exit(1)
	}
	fmt.Printf("{\"hello\": 1, \"dim\": %d, \"samples\": %d}\n", weights, bytes.Count(patients, []byte("\n"))-1)
	query := struct {
		ID json.RawMessage
		X  []float64
	}{}
	for in := json.NewDecoder(os.Stdin); in.Decode(&query) == nil; {
		fmt.Printf("{\"id\": %s, \"loss\": %v}\n", query.ID, 1/(1+math.Exp(query.X[0])))
	}
}

// TestRun checks that the tutorial prints its result, which includes that the certificates verify. With SPADE_LONG it runs
// score.py.
func TestRun(t *testing.T) {
	program, err := os.Executable()
	if os.Getenv("SPADE_LONG") != "" {
		program, err = exec.LookPath("python3")
	}
	if err != nil {
		t.Skip(err)
	}
	var out strings.Builder
	if err := run(t.Context(), &out, program, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`(?s)city   alone.*coast  alone.*hills  alone`,
		`city   made 10 releases, and its certificate verifies: ` +
			`epsilon 1\.0 at delta 1e-05, in all runs on its data 1\.0\n`,
		`hills  made 10 releases`,
		`protected       one record of one client`,
		`a second study of this size is refused by all`,
		`PRIVACY CERTIFICATE\n`,
		`data set "patients of city"`,
		`from the literature`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestData checks that the patient files contain exactly the patients that this test generates. Each file gets patients
// in the order of generation, until it has the given numbers of patients without and with an event. The last file holds
// the patients of a hospital outside the study.
func TestData(t *testing.T) {
	files := []struct {
		name    string
		no, yes int // numbers of patients without and with an event
	}{{"city", 0, 100}, {"coast", 100, 0}, {"hills", 40, 2}, {"unseen", 150, 150}}
	d, next := task.Clinical(1000, 2026), 0
	for _, f := range files {
		var text strings.Builder
		text.WriteString(strings.Join(d.Features, ",") + ",event\n")
		for left := [2]int{f.no, f.yes}; left != [2]int{}; next++ {
			if left[d.Y[next]] == 0 {
				continue
			}
			left[d.Y[next]]--
			for _, v := range d.Row(next) {
				text.WriteString(strconv.FormatFloat(float64(v), 'g', -1, 32) + ",")
			}
			fmt.Fprintln(&text, d.ClassNames[d.Y[next]])
		}
		path := filepath.Join("data", f.name+".csv")
		if *update {
			if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text.String() {
			t.Errorf("%s is not what was generated (-update writes it): %v", path, err)
		}
	}
}

// jsonFields adds the names of the JSON fields of type t to a set (the parameter into). Each name begins with a prefix
// (the parameter at). The names of nested fields are joined with dots.
func jsonFields(t reflect.Type, at string, into map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || strings.Count(at, ".") > 4 {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			jsonFields(f.Type, at, into)
		case name != "" && name != "-":
			into[at+name] = true
			jsonFields(f.Type, at+name+".", into)
		}
	}
}

// TestEvidence checks that every JSON field named in DPIA.md exists.
func TestEvidence(t *testing.T) {
	text, err := os.ReadFile("DPIA.md")
	if err != nil {
		t.Fatal(err)
	}
	format, err := os.ReadFile("../../sdk/fleetfile/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	jsonFields(reflect.TypeFor[certificate.Certificate](), "certificate.", have)
	jsonFields(reflect.TypeFor[monitor.Status](), "status.", have)
	jsonFields(reflect.TypeFor[sdk.Fleet](), "fleet.", have)
	named := regexp.MustCompile("`((certificate|status|fleet)\\.([a-z0-9_.]+))`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 40 {
		t.Fatalf("%d fields", len(named))
	}
	for _, m := range named {
		there := have[m[1]] || m[1] == "certificate.json"
		if m[2] == "fleet" {
			last := m[3][strings.LastIndex(m[3], ".")+1:]
			there = last == "json" || have[m[1]] || strings.Contains(string(format), `"`+last+`"`)
		}
		if !there {
			t.Errorf("there is no %s", m[1])
		}
	}
}
