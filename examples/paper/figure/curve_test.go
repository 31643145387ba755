package figure

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestCurvesThroughCSV(t *testing.T) {
	want := []Curve{
		{"MNIST", "dirichlet:0.3", "SPADE-DFL", 7, 50, 0.95318227593152064},
		{`a "quoted", name`, "iid", "1P-DSG", 0, 0, 0},
		{"Fashion-MNIST", "pathological:2", "DP-SGD", 123456, 1, 1},
	}
	var text bytes.Buffer
	if err := WriteCurves(&text, want); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text.String(), "dataset,partition,method,seed,round,accuracy\n") {
		t.Errorf("header of\n%s", text.String())
	}
	got, err := ReadCurves(&text)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

func TestReadCurvesReportsFaults(t *testing.T) {
	header := "dataset,partition,method,seed,round,accuracy\n"
	for text, want := range map[string][]string{
		"":                                  {"header"},
		"dataset,seed\n":                    {"header"},
		strings.ToUpper(header):             {"header of", "want"},
		header + "a,b,c,1,2\n":              {"line 2"},
		header + "a,b,c,x,2,0.5\n":          {"line 2", "seed"},
		header + "a,b,c,1,-2,0.5\n":         {"line 2", "round"},
		header + "a,b,c,1,2,95.3\n":         {"line 2", "95.3", "fraction"},
		header + "a,b,c,1,2,NaN\n":          {"line 2", "fraction"},
		header + "a,b,c,1,2,x\na,b,c,y,2,1": {"line 2", "accuracy", "line 3", "seed"},
	} {
		_, err := ReadCurves(strings.NewReader(text))
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: %v, which does not mention %q", text, err, part)
			}
		}
	}
}

func FuzzReadCurves(f *testing.F) {
	f.Add("dataset,partition,method,seed,round,accuracy\na,b,c,1,2,0.5\n")
	f.Fuzz(func(t *testing.T, text string) {
		curves, err := ReadCurves(strings.NewReader(text))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := WriteCurves(&again, curves); err != nil {
			t.Fatal(err)
		}
		back, err := ReadCurves(&again)
		if err != nil || !slices.Equal(back, curves) {
			t.Fatalf("%v became %v, %v", curves, back, err)
		}
	})
}

func TestOrderOfPanelsAndLines(t *testing.T) {
	g, err := newGroup([]Curve{
		{"d", "pathological:2", "SPADE-DFL", 1, 1, 0.5}, {"d", "dirichlet:0.1", "own", 1, 1, 0.5},
		{"d", "iid", "1P-DSG", 1, 10, 0.5},
		{"d", "dirichlet:0.6", "another", 1, 2, 0.5}, {"d", "weekday", "LT-ADMM-VR", 1, 1, 0.5},
		{"d", "dirichlet:0.3,unbalanced", "DP-SGD", 1, 1, 0.5},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(g.partitions, " "); got !=
		"iid dirichlet:0.6 dirichlet:0.3,unbalanced dirichlet:0.1 pathological:2 weekday" {
		t.Error(got)
	}
	if got := strings.Join(g.methods, " "); got != "own another LT-ADMM-VR DP-SGD 1P-DSG SPADE-DFL" {
		t.Error(got)
	}
	if !slices.Equal(g.rounds, []int{1, 2, 10}) {
		t.Error(g.rounds)
	}
	for name, want := range map[string]string{"iid": "IID", "dirichlet:0.6": "Dirichlet α = 0.6",
		"dirichlet:0.3,unbalanced": "Dirichlet α = 0.3, unbalanced", "pathological:2": "Pathological", "weekday": "weekday"} {
		if got := partitionTitle(name); got != want {
			t.Errorf("%s is called %q, want %q", name, got, want)
		}
	}
}

func TestGroupRefuses(t *testing.T) {
	for want, curves := range map[string][]Curve{
		"no curves":         nil,
		"only one data set": {{"a", "iid", "m", 1, 1, 0.5}, {"b", "iid", "m", 1, 1, 0.5}},
		"two accuracies":    {{"a", "iid", "m", 1, 1, 0.5}, {"a", "iid", "m", 1, 1, 0.6}},
		"fraction in 0..1":  {{"a", "iid", "m", 1, 1, 50}},
	} {
		if _, err := newGroup(curves); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", curves, err, want)
		}
	}
}
