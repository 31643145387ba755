package trust

import "github.com/spade-dfl/spade-edge/sdk/signed"

// Stops are the early-stop requests that count: of different members, at most as many as have to ask. The zero value takes
// none. Copies are independent.
type Stops struct {
	Enough int              // how many members have to ask; 0 if nobody can
	Known  []signed.Relayed // by round and then by member; never changed in place
	Text   []byte           // Known as it travels, likewise
}

// Take adds a request if it counts, and reports whether it does.
func (st *Stops) Take(s signed.Relayed) bool {
	var next []signed.Relayed
	placed := false
	for _, k := range st.Known {
		if k.Member == s.Member && k.Round <= s.Round {
			return false
		}
		if !placed && (s.Round < k.Round || s.Round == k.Round && s.Member < k.Member) {
			next, placed = append(next, s), true
		}
		if k.Member != s.Member {
			next = append(next, k)
		}
	}
	if !placed {
		next = append(next, s)
	}
	if len(next) > st.Enough && !placed {
		return false
	}
	st.Known, st.Text = next[:min(len(next), st.Enough)], nil
	for i := range st.Known {
		st.Text = st.Known[i].Append(st.Text)
	}
	return true
}

// Agreed returns the round that enough members have asked for: the largest of theirs; 0 for none.
func (st *Stops) Agreed() int {
	if st.Enough == 0 || len(st.Known) < st.Enough {
		return 0
	}
	return st.Known[st.Enough-1].Round
}
