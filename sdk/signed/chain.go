package signed

// Chain holds the latest releases that a member has signed, the newest last: the last two, of a lost device too where
// one was replaced.
type Chain []Statement

const maxChain = 4

// Last returns the newest release, or nil.
func (c Chain) Last() *Statement { return c.newest(func(*Statement) bool { return true }) }

// newest returns the newest release that matches, or nil.
func (c Chain) newest(matches func(r *Statement) bool) *Statement {
	for i := len(c) - 1; i >= 0; i-- {
		if matches(&c[i]) {
			return &c[i]
		}
	}
	return nil
}

// Of returns the release of a round, or nil: of several, as a device that took over signs a round again, the newest.
func (c Chain) Of(round int) *Statement {
	return c.newest(func(r *Statement) bool { return r.Round == round })
}

// Proving returns the newest release of round or later, or, if there is none, the newest of all.
func (c Chain) Proving(round int) *Statement {
	if r := c.newest(func(r *Statement) bool { return r.Round >= round }); r != nil {
		return r
	}
	return c.Last()
}

// Add puts a release in its place and drops the oldest if there are too many. It replaces one of the same round and
// epoch, which is the same, signed with another key.
func (c Chain) Add(r Statement) Chain {
	c = append(c, r)
	for i := len(c) - 1; i > 0; i-- {
		before := &c[i-1]
		if before.Epoch == r.Epoch && before.Round == r.Round {
			*before = r
			return append(c[:i], c[i+1:]...)
		}
		if before.Epoch < r.Epoch || before.Epoch == r.Epoch && before.Round < r.Round {
			break
		}
		c[i-1], c[i] = c[i], c[i-1]
	}
	return c[max(0, len(c)-maxChain):]
}
