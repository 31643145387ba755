package ws

import (
	"bytes"
	"testing"
)

func TestBufferPool(t *testing.T) {
	s := bufferPool{limit: 2}
	same := func(a, b []byte) bool { return &a[:1][0] == &b[:1][0] }

	f := s.take(5000)
	s.put(f)
	if g := s.take(4000); len(g) != 4000 || !same(f, g) {
		t.Errorf("a frame of 5000 is not used for the next of 4000")
	}
	if g := s.take(4000); same(f, g) {
		t.Error("a frame is handed out twice")
	}
	s.put(f)
	if same(f, s.take(5001)) || same(f, s.take(2499)) {
		t.Error("a frame of 5000 is used for one of 5001, or of less than half")
	}
	third := s.take(5000) // f
	for _, n := range []int{6000, 7000, 8000} {
		s.put(make([]byte, n))
	}
	if len(s.frames) != 2 || cap(s.frames[0]) != 7000 || cap(s.frames[1]) != 8000 {
		t.Errorf("%d frames kept, want the newest 2", len(s.frames))
	}
	if !same(f, third) {
		t.Error("the frame kept is not the one given back")
	}
	s.put(make([]byte, smallFrame))
	if len(s.frames) != 2 || cap(s.frames[1]) != 8000 {
		t.Error("a small frame is kept")
	}
	none := bufferPool{}
	none.put(f)
	if len(none.frames) != 0 {
		t.Error("a frame is kept without peers")
	}
}

// Frames that were given back carry the next ones, none of which shows what was there before.
func TestRecycle(t *testing.T) {
	a, b := pair(t, nil, nil)
	seen := make(map[*byte]bool)
	for i := range byte(20) {
		a.send(t, "b", bytes.Repeat([]byte{i}, 100_000-int(i)))
		_, frame, err := b.Recv(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(frame, bytes.Repeat([]byte{i}, 100_000-int(i))) {
			t.Fatalf("frame %d is not what was sent", i)
		}
		seen[&frame[0]] = true
		b.Recycle(frame)
	}
	if len(seen) != 1 {
		t.Errorf("%d pieces of memory for 20 frames, want 1", len(seen))
	}
	b.Recycle(make([]byte, b.MaxFrame()+1))
	b.Recycle(nil)
	if n := len(b.pool.frames); n != 1 {
		t.Errorf("%d frames kept, want 1: one is longer than any that can come, one is empty", n)
	}
}
