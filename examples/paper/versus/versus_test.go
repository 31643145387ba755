package versus

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOne checks that both forms of the SDK complete the job, and that the page shows what a program reports.
func TestOne(t *testing.T) {
	data := filepath.FromSlash("../../../../shared/data")
	if _, err := os.Stat(filepath.Join(data, "alzheimers")); err != nil {
		t.Skip("no data: ", err)
	}
	folder := t.TempDir()
	if err := prepare(data, folder); err != nil {
		t.Fatal(err)
	}
	figures := make(map[string][]figure)
	for _, form := range []string{paperForm, tracking} {
		text, err := json.Marshal(turn{folder, form, 1})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		var f figure
		if err := One(context.Background(), string(text), &out); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), &f); err != nil || f.Accuracy < goal || f.Rounds >= 200 || f.Bytes == 0 {
			t.Errorf("%s: %+v, %v", form, f, err)
		}
		figures[form] = []figure{f}
	}
	m, own, _, err := read(folder)
	if err != nil || len(own) != clients {
		t.Fatalf("%d clients, %v", len(own), err)
	}
	figures[numpy] = []figure{{Seconds: figures[paperForm][0].Seconds}}
	if text := page(m, figures); !strings.Contains(text, "takes 1.00 times as long") {
		t.Error(text)
	}
}
