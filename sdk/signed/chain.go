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

// Of returns the release of a round, or nil. The newest is looked at first: a device that took over has signed a round
// again.
func (c Chain) Of(round int) *Statement {
	return c.newest(func(r *Statement) bool { return r.Round == round })
}

// Proving returns the release to show to whoever has made some up to round: the newest, or, if a device has taken over
// that has not come as far as the one before, the newest that has.
func (c Chain) Proving(round int) *Statement {
	if r := c.newest(func(r *Statement) bool { return r.Round >= round }); r != nil {
		return r
	}
	return c.Last()
}

// Add puts a release in its place and drops the oldest if there are too many. One of the same round and epoch is
// replaced: it is the same, signed with another key.
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
