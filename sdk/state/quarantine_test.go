package state

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// What is kept of a neighbor in quarantine comes back, the first of each neighbor, whatever its name is; a long frame is
// cut, and a damaged file refused by name.
func TestQuarantineIsRead(t *testing.T) {
	d := mustOpen(t, t.TempDir())
	if list, err := d.Quarantined(); list != nil || err != nil {
		t.Fatal(list, err)
	}
	long := make([]byte, MaxFrameKept+5)
	want := []Quarantine{
		{Run: "r", Neighbor: "../ a/%", Release: 4, Why: "x \x1b", Frames: []Frame{NewFrame(long), NewFrame(nil)}},
		{Run: "r", Neighbor: "b", Release: 1, Told: true, Frames: []Frame{NewFrame([]byte{1})}},
	}
	for i := range 2 {
		for _, q := range want {
			q.Release += i // the second one is not kept
			if err := d.AddQuarantine(q); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := ReadQuarantine(d.dir)
	for i := range list {
		for k, f := range list[i].Frames {
			if len(f.Start) == 0 {
				list[i].Frames[k].Start = nil
			}
		}
	}
	if err != nil || !reflect.DeepEqual(list, want) || len(list[0].Frames[0].Start) != MaxFrameKept {
		t.Errorf("%+v, %v, want %+v", list, err, want)
	}
	if err := os.WriteFile(QuarantinePath(d.dir), []byte(`{"neighbor": "b"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadQuarantine(d.dir); err == nil || !strings.Contains(err.Error(), "quarantine.jsonl, line 1") {
		t.Error(err)
	}
}
