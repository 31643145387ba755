package admm

import "cmp"

// Early end: [Machine.Stop] sets the last round with data. A client that learns of the stop before it begins the local
// work of a later round ends with the last round that the stop sets. Any other client ends with its round in progress.
// So a neighbor may end earlier or later than this client, and the machine waits for no release after a neighbor's end.
//
// A client reports its end only with a release whose stored state includes the end. After this report a neighbor may
// exit, and can no longer answer a client that restarts. So a client that restarts must still know of the end.

func (c *Config) rounds() int { return cmp.Or(c.End, c.Rounds) }

// Stop makes the given round, 1..Config.Rounds, the last round that uses data. If the current round is later, Stop
// makes the current round the last. Stop returns the round that is now the last with data. Mixing and cool-down follow
// as planned. A later call may make the end earlier but never later. Do not call Stop between a Ready that reserves a
// release and the next Ready.
func (m *Machine) Stop(last int) int {
	last = max(1, min(last, m.cfg.Rounds))
	if m.stop == 0 || last < m.stop {
		m.stop = last
	}
	if last = max(last, m.cfg.Data(m.Begun())); last < m.cfg.rounds() {
		m.cfg.End = last
	}
	return m.cfg.rounds()
}

// Begun returns the number of the release in progress, or of the latest release if none is in progress.
func (m *Machine) Begun() int {
	if m.local || m.due {
		return m.round + 1
	}
	return m.round
}

func (m *Machine) last() int { return cmp.Or(m.early, m.cfg.Last()) }

// ends returns the first and the last release with which a neighbor may have ended. They differ if this client or the
// neighbor may not have learned of an early end in time.
func (m *Machine) ends() (first, last int) {
	if last = m.last(); m.stop == 0 {
		return last, last
	}
	return min(last, m.cfg.learning(m.stop)+m.cfg.Cooldown), last
}

// farEnd returns the last release that a neighbor may have made before it learned of an early end.
func (m *Machine) farEnd() int {
	if m.stop == 0 {
		return m.last()
	}
	return m.cfg.planned()
}

// planned returns the number of the last release of a run without an early end.
func (c *Config) planned() int { return c.learning(c.Rounds) + c.Cooldown }

// eitherForm reports whether a release may be on the grid at one end of an edge and off the grid at the other end.
func (m *Machine) eitherForm(release int) bool {
	c := &m.cfg
	return m.stop > 0 && c.GridStep != 0 && release > c.learning(m.stop) && release <= c.learning(c.Rounds)
}

// follow records that a neighbor has ended. This client ends with its next release, whose state includes the end.
func (m *Machine) follow(e *edge, release int) {
	if release >= m.last() {
		return
	}
	if m.early == 0 && m.round < m.last() {
		m.early = m.round + 1
	}
	m.endings[e.index] = release
}
