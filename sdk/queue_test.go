package sdk

import (
	"fmt"
	"testing"
)

// TestQueue checks that queued frames are sent once, in order. A frame for which there is no room is dropped, except
// the run's last frame, which is sent before the node exits.
func TestQueue(t *testing.T) {
	for name, c := range map[string]struct {
		put  []string // ! marks the run's last frame
		want string
	}{
		"in order":                      {[]string{"a", "b"}, "[a b]"},
		"repeats":                       {[]string{"a", "b", "a", "b", "c", "b", "d"}, "[a b c d]"},
		"no room":                       {[]string{"a", "b", "c", "d", "e", "a"}, "[a b c d]"},
		"a last frame":                  {[]string{"a", "b", "c", "d", "!", "e"}, "[a b c d !]"},
		"one that has room":             {[]string{"a", "!", "b", "!"}, "[a ! b]"},
		"one that was said after all":   {[]string{"a", "b", "c", "d", "!", "", "!", "e"}, "[a b c d !]"},
		"none":                          {nil, "[]"},
		"room is for those that remain": {[]string{"a", "b", "c", "d", "", "e", "f"}, "[a b c d e]"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newQueue()
			var sent []string
			take := func() bool {
				p, ok := box.next()
				if ok {
					sent = append(sent, string(p.frame))
				}
				return ok
			}
			for _, f := range c.put {
				if f == "" { // the sender takes one frame
					take()
					continue
				}
				box.put(parcel{frame: []byte(f), urgent: f == "!"})
			}
			box.close()
			for take() {
			}
			if got := fmt.Sprint(sent); got != c.want {
				t.Errorf("%v are sent as %s, want %s", c.put, got, c.want)
			}
		})
	}
}
