package sweep

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "runs.csv")
	table, err := Open(path, 2, "what", "seed", "value")
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range [][][]string{{{"b", "10", "1"}, {"b", "10", "2"}}, {{"b", "9", "3"}}, {{"a", "1", "x, \"y\""}}} {
		if err := table.Add(run...); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Add([]string{"c", "1", "1"}, []string{"d", "1", "1"}); err == nil {
		t.Error("rows of two runs are one run")
	}
	if err := table.Add([]string{"c", "1"}); err == nil {
		t.Error("a short row is accepted")
	}
	// Open keeps all complete lines and drops an incomplete last line.
	if err := os.WriteFile(path, []byte(read(t, path)+"c,3,0.12"), 0o666); err != nil {
		t.Fatal(err)
	}
	if table, err = Open(path, 2, "what", "seed", "value"); err != nil {
		t.Fatal(err)
	}
	if got := table.Rows("b", "10"); len(got) != 2 || got[1][2] != "2" {
		t.Errorf("rows of b, 10: %v", got)
	}
	if got := table.Rows("c", "3"); got != nil {
		t.Errorf("half a row is one: %v", got)
	}
	table.Drop("b", "9")
	if err := table.Add([]string{"b", "11", "4"}); err != nil {
		t.Fatal(err)
	}
	if err := table.Sort(); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, path), "what,seed,value\na,1,\"x, \"\"y\"\"\"\nb,10,1\nb,10,2\nb,11,4\n"; got != want {
		t.Errorf("the file is\n%swant\n%s", got, want)
	}
	if _, err := Open(path, 2, "what", "seed", "score"); err == nil || !strings.Contains(err.Error(), "score") {
		t.Errorf("another header: %v", err)
	}
}

func TestCompare(t *testing.T) {
	values := []string{"10648", "1000", "b", "iid", "a10", "a9", "9", "0"}
	slices.SortFunc(values, compare)
	if got := strings.Join(values, " "); got != "0 9 1000 10648 a10 a9 b iid" {
		t.Error(got)
	}
}

func TestDo(t *testing.T) {
	var log strings.Builder
	done := make([]bool, 30)
	err := Do(context.Background(), &log, "runs", 30, func(int) float64 { return 1 },
		func(_ context.Context, i int) (string, error) {
			done[i] = true
			return "fine", nil
		})
	if err != nil || slices.Contains(done, false) || !strings.Contains(log.String(), "30 of 30") {
		t.Errorf("%v, %v, %q", err, done, log.String())
	}
	broken := errors.New("broken")
	if err := Do(context.Background(), &log, "runs", 30, func(int) float64 { return 1 },
		func(context.Context, int) (string, error) { return "", broken }); err != broken {
		t.Errorf("%v, want the error of a run", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Do(ctx, &log, "runs", 3, func(int) float64 { return 1 },
		func(context.Context, int) (string, error) { t.Error("begun"); return "", nil }); err != context.Canceled {
		t.Errorf("%v, want that it is canceled", err)
	}
}
