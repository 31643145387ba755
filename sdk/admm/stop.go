package admm

// The members of a run may agree to end it early. Which round is the last with data is an input, [Machine.Stop]: how the
// members come to agree is not the machine's concern. A client that is told in time, before its local work of the round
// after, ends with all others. One that is told late ends with the round that it is in. So may its neighbors' last
// releases be of a round that it has left behind, or has not come to. The machine waits for none of them.
//
// A client says that it has ended only with a release whose state says so. A neighbor may leave once it has heard that:
// a client that is started again and does not know that it has ended would wait for it.

// rounds returns how many rounds touch data.
func (c *Config) rounds() int {
	if c.End > 0 {
		return c.End
	}
	return c.Rounds
}

// Stop makes a round of Config.Rounds, counted from 1, the last that touches data. Mixing and cool-down follow as they
// would after the last of the plan; what a round computes stays the same. A round that has begun is not given up: then
// that one is the last. A later call may bring the end forward, and never puts it off. Stop returns the last round, which
// may be that of the plan. It comes before Ready, and not between a Ready that reserves a release and the next.
func (m *Machine) Stop(last int) int {
	last = max(1, min(last, m.cfg.Rounds))
	if m.stop == 0 || last < m.stop {
		m.stop = last
	}
	if last = max(last, m.cfg.Data(m.begunRound())); last < m.cfg.rounds() {
		m.cfg.End = last
	}
	return m.cfg.rounds()
}

// begunRound returns the number of the release in progress, or of the last one if none has begun.
func (m *Machine) begunRound() int {
	if m.local || m.due {
		return m.round + 1
	}
	return m.round
}

// last returns the number of the last release.
func (m *Machine) last() int {
	if m.early > 0 {
		return m.early
	}
	return m.cfg.Last()
}

// ends returns the first and the last release with which a neighbor may have ended. In a run that goes as planned, and
// in one whose members were all told in time, the two are the same.
func (m *Machine) ends() (first, last int) {
	first, last = m.last(), m.last()
	if m.stop == 0 {
		return first, last
	}
	told := m.cfg
	told.End = m.stop
	return min(first, told.Last()), last
}

// farEnd returns the last release that a neighbor may have made: one that was told late has gone on.
func (m *Machine) farEnd() int {
	if m.stop == 0 {
		return m.last()
	}
	return m.cfg.planned()
}

// planned returns the number of the last release of a run that goes as planned.
func (c Config) planned() int {
	c.End = 0
	return c.Last()
}

// eitherForm reports whether a neighbor's release may be on the grid though this client's of that round is not, or the
// other way round: one of the two was told late.
func (m *Machine) eitherForm(release int) bool {
	told, plan := m.cfg, m.cfg
	told.End, plan.End = m.stop, 0
	return m.stop > 0 && m.cfg.Releases && m.cfg.GridStep != 0 && release > told.Learning() && release <= plan.Learning()
}

// follow takes a neighbor's word that it has ended with a release. Nobody can go on without it for long: this client
// ends with the release that it makes next, which is stored with that. It has noise and data only if it has begun.
func (m *Machine) follow(e *edge, release int) {
	if release >= m.last() {
		return
	}
	if m.early == 0 && m.round < m.last() {
		m.early = m.round + 1
	}
	if m.endings == nil {
		m.endings = make([]int, len(m.edges))
	}
	m.endings[e.index] = release
}

// ended returns the release with which a neighbor has ended before this client's last one; 0 if it has not.
func (m *Machine) ended(e *edge) int {
	if m.endings == nil {
		return 0
	}
	return m.endings[e.index]
}
