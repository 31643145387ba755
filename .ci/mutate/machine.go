package main

// onMachine are the mutations of the estimator and of the ADMM machine.
var onMachine = []mutation{
	{"scenes: a neighbor that lacks a release does not get it", "sdk/admm/message.go",
		"if msg.Round == m.round-1 && !msg.Resent && msg.Round != m.lost {", "if msg.Round < 0 {", scenes},
	{"scenes: a dropped neighbor's message is accepted", "sdk/admm/message.go",
		"	if m.dropped(e.index) {\n		return errQuarantine\n	}\n", "", scenes},
	{"sign of the penalty in a local step", "sdk/admm/round.go",
		"float32(mu*m.cfg.Beta), m.p)", "-float32(mu*m.cfg.Beta), m.p)", method},
	{"sign of the penalty in the release", "sdk/admm/round.go",
		"vec.Axpy(m.center, -float32(m.gain()), m.p)", "vec.Axpy(m.center, float32(m.gain()), m.p)", method},
	{"tau missing in the penalty of the release", "sdk/admm/round.go",
		"return float64(m.cfg.Tau) * m.cfg.Eta.At(m.k())", "return m.cfg.Eta.At(m.k())", method},
	{"a neighbor missing in the penalty", "sdk/admm/round.go",
		"	for i := range m.edges {\n		if !m.gone(i) {\n			vec.Axpy(m.p, -1",
		"	for i := range m.edges[min(1, len(m.edges)):] {\n		if !m.gone(i) {\n			vec.Axpy(m.p, -1", method},
	{"quarantine: z of a dropped edge in the penalty", "sdk/admm/round.go",
		"		if !m.gone(i) {\n			vec.Axpy(m.p, -1", "		if i >= 0 {\n			vec.Axpy(m.p, -1", dropped},
	{"quarantine: the degree of a dropped edge in the penalty", "sdk/admm/round.go",
		"float32(m.cfg.Rho*float64(m.live()))", "float32(m.cfg.Rho*float64(len(m.edges)))", dropped},
	{"quarantine: a jump is accepted", "sdk/admm/bound.go", "max(int64(change), -int64(change)) > wide {",
		"max(int64(change), -int64(change)) > 1<<40 {", dropped},
	{"quarantine: the bound is a quarter of a member's range", "sdk/admm/bound.go", "wide := int64(high) - int64(low)",
		"wide := (int64(high) - int64(low)) / 4", liars},
	{"quarantine: a vector at the bound is refused", "sdk/admm/bound.go", "!(x >= low && x <= high)",
		"!(x > low && x < high)", liars},
	{"bound: a member on the grid goes beyond it", "sdk/admm/round.go",
		"			at := int32(bound.onGrid(i, to))\n",
		"			last := m.cfg.lastStep()\n			at := int32(max(-last, min(last, to)))\n", liars},
	{"bound: a member off the grid goes beyond it", "sdk/admm/round.go", "m.outgrow(bound.keepIn(m.x, m.center) || outside)",
		"clamp(m.x)\n	m.outgrow(outside)", liars},
	{"bound: a neighbor's claimed position is not bounded", "sdk/admm/round.go",
		"int32(bound.onGrid(c, float64(base[c])+float64(change)))",
		"int32(max(-gridLimit, min(gridLimit, float64(base[c])+float64(change))))", suite{"./sdk/admm", "BeyondTheBound"}},
	{"absent: noise is shared however many members are gone", "sdk/admm/round.go", "len(m.edges)-m.live() > g.Shared.Absent:", "len(m.edges) == 0:", sums},
	{"absent: noise is shared with one more gone", "sdk/admm/round.go", "m.live() > g.Shared.Absent:", "m.live() > 1+g.Shared.Absent:", sums},
	{"absent: no noise is shared without one member", "sdk/admm/round.go", "m.live() > g.Shared.Absent:", "m.live() > 0:", sums},
	{"absent: noise is shared with members that are gone", "sdk/admm/round.go",
		"			if !m.gone(i) {\n				share(", "			if i >= 0 {\n				share(", sums},
	{"quarantine: the client's own round decides", "sdk/admm/quarantine.go", "for e.at(next-1) >= 0 {", "for next < 0 {", dropped},
	{"quarantine: a crash ends it", "sdk/admm/state.go", "			e.cut = min(from.Quarantine, s.Round+1)",
		"			e.cut = 0", dropped},
	{"flows: z follows each round of a block", "sdk/admm/round.go", "m.setFlow(i, xj, base)\n\t\t\tcontinue", "m.setFlow(i, xj, base)", flows},
	{"flows: the two ends round differently", "sdk/admm/flow.go", "math.RoundToEven(float64(carry", "math.Floor(float64(carry", flows},
	{"flows: they are not in the state", "sdk/admm/state.go", "copy(m.flow(i), from.Flow)", "", flows},
	{"factor 2 missing in the z-update", "sdk/admm/round.go",
		"float32(twice*xj[c]))) * 0.5", "float32(twice*xj[c])))", method},
	{"factor 2 missing in the message", "sdk/admm/round.go",
		"float32(2 * m.cfg.Rho)", "float32(m.cfg.Rho)", method},
	{"rho missing in the message", "sdk/admm/round.go",
		"float32(2 * m.cfg.Rho)", "float32(2)", method},
	{"rho missing in the first z", "sdk/admm/machine.go",
		"vec.Scale(m.z, float32(cfg.Rho))", "vec.Scale(m.z, 1)", method},
	{"sign of the step", "sdk/admm/round.go",
		"float32(-m.cfg.Eta.At(m.k()))", "float32(m.cfg.Eta.At(m.k()))", method},
	{"fresh noise when a release is sent again", "sdk/admm/message.go",
		"	m.send = append(m.send, msg)\n}", `	if resent && m.mech != nil {
		fresh := make([]float32, len(m.x))
		_ = m.mech.Release(fresh, m.rows(), m.cfg.Privacy)
		msg.Vector, msg.Grid = slices.Clone(msg.Vector), slices.Clone(msg.Grid)
		for i := range msg.Vector {
			msg.Vector[i] += fresh[i]
		}
		for i := range msg.Grid {
			msg.Grid[i] += int32(fresh[i] / float32(m.cfg.GridStep))
		}
	}
	m.send = append(m.send, msg)
}`, crashes},
	{"momentum: nothing is carried over", "sdk/admm/round.go",
		"			m.est.Carry(m.s)\n", "", method},
	{"momentum: what is carried over does not outlast a restart", "zoest/estimator.go",
		"e.carry = e.whole[own:]", "e.carry = make([]float32, cfg.Dim)", crashes},
	{"division by mu", "zoest/estimator.go", "	e.method.answer(r.open, &r.answers)\n", `	for i := range losses {
		r.answers.losses[r.answers.n+i] /= float64(e.mu)
	}
	e.method.answer(r.open, &r.answers)
`, oracle},
	{"losses are rounded before their offset is subtracted", "zoest/tracking.go",
		"t.subtract(h, loss)", "t.subtract(h, float64(float32(loss)))", oracle},
	{"table never refreshed", "zoest/paper.go",
		"vec.SignReplaceRows(p.rows, rows,",
		"vec.SignReplaceRows(append([]float32(nil), p.rows...), rows,", oracle},
	{"table of long rows never refreshed", "zoest/paper.go",
		"vec.SignReplace(row, v,",
		"vec.SignReplace(append([]float32(nil), row...), v,", oracle},
	{"mean of the table never updated", "zoest/paper.go",
		"p.v, p.abar, a.fresh", "p.v, append([]float32(nil), p.abar...), a.fresh", oracle},
	{"batch with replacement", "zoest/batch.go",
		"	return b.items[:len(b.swaps)]\n", `	out := make([]int, len(b.swaps))
	for i := range out {
		out[i] = b.items[s.IntN(len(b.items))]
	}
	return out
`, oracle},
	{"trust from the stage's own losses", "zoest/tracking.go",
		"t.trust*along)", "min(1, max(0, t.both/t.self))*along)", oracle},
	{"slope of the table forgotten in the estimate", "zoest/tracking.go",
		"float32(t.trust*float64(t.mu))", "0", oracle},
	{"rows of a Hadamard matrix without their signs", "zoest/walsh.go",
		"sylvester[row%64] ^ -uint64(sign)", "sylvester[row%64]", oracle},
	{"no clamp on the grid", "sdk/admm/round.go",
		"at := int32(bound.onGrid(i, to))", "at := int32(to)", edge},
	{"a release that leaves the grid is an error", "sdk/admm/round.go",
		"			steps[i], m.grid[i] = at-m.grid[i], at\n", `			if math.Abs(to) > bound.last-16*m.cfg.reach()/bound.step {
				return fmt.Errorf("coordinate %d of the model has become too large: %s", i, advice)
			}
			steps[i], m.grid[i] = at-m.grid[i], at
`, edge},
	{"worlds: a release that is made before it was charged", "sdk/admm/machine.go",
		"for m.err == nil && !m.work.reserve && !m.released {", "for m.err == nil && !m.released {", worlds},
	{"worlds: the next round before a release was stored", "sdk/admm/machine.go",
		"for m.err == nil && !m.work.reserve && !m.released {", "for m.err == nil && !m.work.reserve {", worlds},
	{"shared: both ends add", "sdk/admm/round.go",
		"Subtract: m.client() > peer", "Subtract: false", sums},
	{"shared: with one neighbor less", "sdk/admm/round.go",
		"		for i := range m.edges {\n			if !m.gone(i) {\n				share(m.edges[i].peer)",
		"		for i := range m.edges[min(1, len(m.edges)):] {\n			if i++; !m.gone(i) {\n				share(m.edges[i].peer)", sums},
	{"shared: the keys of the release before", "sdk/admm/round.go",
		"m.cfg.PairKey(peer, m.round+1)", "m.cfg.PairKey(peer, max(1, m.round))", sums},
	{"shared: keys that stay in memory", "sdk/admm/records.go", "	defer clear(pairs)\n", "", sums},
	{"partners: noise is only for neighbors in use", "sdk/admm/round.go", "			share(peer)\n",
		"			if m.Quarantined(peer) == 0 {\n				share(peer)\n			}\n", overlay},
}
