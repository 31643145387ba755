package trust

import (
	"cmp"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Stops are the early-stop requests that count, of different members. The zero value takes none. Copies are independent.
type Stops struct {
	Enough int              // how many members have to ask; 0 if nobody can
	Known  []signed.Relayed // by round and then by member; never changed in place
	Text   []byte           // Known as it travels, likewise
}

// Take adds a request if it counts, and reports whether it does.
func (st *Stops) Take(s signed.Relayed) bool {
	next := slices.Clone(st.Known)
	if i := slices.IndexFunc(next, func(k signed.Relayed) bool { return k.Member == s.Member }); i >= 0 {
		if next[i].Round <= s.Round {
			return false
		}
		next = slices.Delete(next, i, i+1)
	}
	at, _ := slices.BinarySearchFunc(next, s, func(a, b signed.Relayed) int {
		return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(a.Member, b.Member))
	})
	next = slices.Insert(next, at, s)
	if at >= st.Enough {
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
