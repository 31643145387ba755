package main

// A suite is a package with the tests that hold it to the paper.
type suite struct{ pkg, run string }

var (
	method = suite{"./sdk/admm",
		"Reference|EdgeIdentity|PenaltyRecursions|StabilityLimit|DecayRate|EnergyRecursion|SingleClient|RateOfLocalSteps|" +
			"Momentum"}
	crashes = suite{"./sdk/admm", "Crashes|Restore|Probe|LateRepeat|LossyDelivery"}
	oracle  = suite{"./zoest", "Reference|Conditional|SecondMoment|Batch|Centered|Tracking|Walsh|Seeded|StagesAskOnce"}
	privacy = suite{"./dpmech", "Release|Clip|Ball|NormalLaw|Round|Rho|SigmaReference|EpsilonReference"}
	proofs  = suite{"./dpmech", "Certificate|FormatEpsilon|SignedBytes"}
	audits  = suite{"./sdk/audit", "."}
	edge    = suite{"./sdk/admm", "CrashOracle|DivergesBefore|NothingFails|ConfigValidate"}
	ledger  = suite{"./sdk/state", "Ledger"}
	resume  = suite{"./dpmech", "CheckResume"}
	claims  = suite{"./sdk", "LiesCostNothing|TakeoverFromLiars|DoubleLeaves|EndedByAWord|StartsAreProved|HeardByOne"}
	order   = suite{"./sdk", "DeletedStates|CrashBetween|ReservationWithout|LostReleases|ReplacedDevice|NoSecondLook|" +
		"ChargesFirst"}
	agree   = suite{"./sdk/pair", "BothEnds|LowOrder|OfferThatCounts|Kept"}
	sharing = suite{"./sdk", "AgreeOnSecrets|AgreementSurvives|SharedNoise|FalseOffers|Equivocation"}
	missing = suite{"./sdk/admm", "MissingKey"}
	survive = suite{"./sdk", "AgreementSurvives"}
	flows   = suite{"./sdk/admm", "Flows|RestoreAfter"}
	network = suite{"./sdk/graph", "Contraction|StabilityLimit|Spectrum"}
	pairs   = suite{"./dpmech", "Shared|Alone|TwoLimits|TellsAdversaries|TwoAdversaries|Left$"}
	sums    = suite{"./sdk/admm", "SharedNoise|SharesNothing|MissingKey|Absent"}
	keys    = suite{"./sdk/pair", "Key"}
	robust  = suite{"./sdk/admm", "Robust|RestoreAfter"}
	dropped = suite{"./sdk/admm", "Quarantine|Judge"}
	floods  = suite{"./transport/ws", "Useless"}
	words   = suite{"./sdk", "Outbox|LastWord"}
	replace = suite{"./sdk/admm", "Takeovers|ReplacedDevice|WrongStarts|Standing"}
	late    = suite{"./sdk", "LateStopSurvives"}
	worlds  = suite{"./sdk/admm", "WorldsOfOneMember"}
	falling = suite{"./sdk", "Trend"}
	saddles = suite{"./sdk", "Saddle"}
	stops   = suite{"./sdk", "StopIsAgreedOn|StopsOfSeveral|StopOfSeveral|WrongStops"}
)

// mutation is one planted error: old, which occurs once in the file, becomes new.
type mutation struct {
	name, file, old, new string
	by                   suite
}

var mutations = []mutation{
	{"sign of the penalty in a local step", "sdk/admm/round.go",
		"float32(mu*m.cfg.Beta), m.p)", "-float32(mu*m.cfg.Beta), m.p)", method},
	{"sign of the penalty in the release", "sdk/admm/round.go",
		"vec.Axpy(m.centre, -float32(m.gain()), m.p)", "vec.Axpy(m.centre, float32(m.gain()), m.p)", method},
	{"tau missing in the penalty of the release", "sdk/admm/robust.go",
		"return float64(m.cfg.Tau) * m.cfg.Eta.At(m.k())", "return m.cfg.Eta.At(m.k())", method},
	{"a neighbor missing in the penalty", "sdk/admm/round.go",
		"	for i := range m.edges {\n		if !m.gone(i) {\n			vec.Axpy(m.p, -1",
		"	for i := range m.edges[min(1, len(m.edges)):] {\n		if !m.gone(i) {\n			vec.Axpy(m.p, -1", method},
	{"stop: a round later than all can hear of it", "sdk/stop.go",
		"eccentricity(n.graph, self) + 1)", "eccentricity(n.graph, self) + 2)", stops},
	{"stop: one member is enough", "sdk/trust/claim.go", "return st.Known[st.Enough-1].Round", "return st.Known[0].Round", stops},
	{"stop: signatures are not checked", "sdk/stop.go",
		"	if err := s.Verify(signed.NewScope(f.Run, r.hash, name), r.claims.Keys(name)); err != nil {",
		"	if err := s.Verify(signed.NewScope(f.Run, r.hash, name), r.claims.Keys(name)); err != nil && err == nil {", stops},
	{"stop: acted on before it is kept", "sdk/stop.go",
		"{ j.Stops = next.Known }", "{}", suite{"./sdk", "StopSurvivesKills"}},
	{"stop: an early end that its state does not have", "sdk/admm/stop.go",
		"		m.early = m.round + 1\n", "		m.early = max(release, m.begunRound())\n", late},
	{"stop: an early end that is not stored", "sdk/admm/state.go", "Early: m.early}", "Early: 0}", late},
	{"outbox: a repeat takes the room of what is new", "sdk/outbox.go", "return bytes.Equal(f, frame)", "return bytes.Equal(f, nil)", words},
	{"outbox: no room for a last word", "sdk/outbox.go", "last && len(b.frames) == room", "last && false", words},
	{"flood: what is beside frames is free", "transport/ws/tcp.go", "if late > uselessLimit", "if late < -uselessLimit", floods},
	{"flood: what is in frames counts", "transport/ws/conn.go", "c.tcp.meter.count(-got - got/16)", "c.tcp.meter.count(0)", floods},
	{"flood: no pause for a node that waits", "sdk/inbox.go", "r.idle > burst", "r.idle < 0",
		suite{"./sdk", "FloodOfWaiting"}},
	{"quarantine: z of a dropped edge in the penalty", "sdk/admm/round.go",
		"		if !m.gone(i) {\n			vec.Axpy(m.p, -1", "		if i >= 0 {\n			vec.Axpy(m.p, -1", dropped},
	{"quarantine: the degree of a dropped edge in the penalty", "sdk/admm/round.go",
		"float32(m.cfg.Rho*float64(m.live()))", "float32(m.cfg.Rho*float64(len(m.edges)))", dropped},
	{"quarantine: a jump is taken in", "sdk/admm/quarantine.go", "distance > most {", "distance < -most {", dropped},
	{"absent: noise is shared whoever is gone", "sdk/admm/round.go", "len(m.edges)-m.live() > g.Shared.Absent {", "len(m.edges) == 0 {", sums},
	{"absent: noise is shared with one more gone", "sdk/admm/round.go", "m.live() > g.Shared.Absent {", "m.live() > 1+g.Shared.Absent {", sums},
	{"absent: no noise is shared without one member", "sdk/admm/round.go", "m.live() > g.Shared.Absent {", "m.live() > 0 {", sums},
	{"absent: noise is shared with who is gone", "sdk/admm/round.go",
		"		if m.gone(i) {\n			continue\n		}\n		peer", "		peer", sums},
	{"absent: noise is planned for the colluders alone", "sdk/privacy.go", "min(p.Colluders, n)+min(p.Absent, n)", "min(p.Colluders, n)",
		suite{"./sdk", "AbsentIsPlanned"}},
	{"absent: the weakest assumption of all releases", "dpmech/total.go", "b.absent < a.absent", "b.absent > a.absent", pairs},
	{"absent: another assumption in the certificate than in the fleet", "sdk/audit/audit.go",
		`{"absent", s.Shared.Absent, want.Shared.Absent},`, "", audits},
	{"quarantine: the client's own round decides", "sdk/admm/quarantine.go", "for e.at(next-1) >= 0 {", "for next < 0 {", dropped},
	{"quarantine: what was moved stays", "sdk/admm/robust.go",
		"				m.p[c] += float32(float64(before) / gain)\n				moved[c] = 0\n", "				_ = before\n", dropped},
	{"quarantine: forgotten in a crash", "sdk/admm/state.go", "			m.cut[i] = min(from.Quarantine, s.Round+1)",
		"			m.cut[i] = 0", dropped},
	{"quarantine: all neighbors can be given up", "sdk/config.go", "(left == 0 || ", "(left < 0 || ", suite{"./sdk", "WithoutIsChecked"}},
	{"flows: z follows each round of a block", "sdk/admm/round.go", "m.setFlow(i, xj, base)\n\t\t\tcontinue", "m.setFlow(i, xj, base)", flows},
	{"flows: the two ends round differently", "sdk/admm/flow.go", "math.RoundToEven(float64(carry", "math.Floor(float64(carry", flows},
	{"flows: an edge that begins anew keeps its flow", "sdk/admm/takeover.go", "clear(part(m.flow, e.index, d))", "", flows},
	{"flows: not in the state", "sdk/admm/state.go", "copy(part(m.flow, i, len(m.x)), from.Flow)", "", flows},
	{"factor 2 missing in the z-update", "sdk/admm/round.go",
		"vec.Scale(z, 0.5)", "vec.Scale(z, 1)", method},
	{"factor 2 missing in the message", "sdk/admm/round.go",
		"-float32(2*m.cfg.Rho)", "-float32(m.cfg.Rho)", method},
	{"rho missing in the message", "sdk/admm/round.go",
		"-float32(2*m.cfg.Rho)", "-float32(2)", method},
	{"rho missing in the first z", "sdk/admm/machine.go",
		"vec.Scale(m.z, float32(cfg.Rho))", "vec.Scale(m.z, 1)", method},
	{"robust: the mean in place of the median", "sdk/admm/robust.go",
		"centre := (r.sorted[(n-1)/2] + r.sorted[n/2]) / 2",
		"centre := 0.0\n		for _, x := range r.sorted {\n			centre += x / float64(n)\n		}", robust},
	{"robust: each round has a bound of its own", "sdk/admm/robust.go",
		"				m.p[c] -= float32((to - float64(before)) / gain)",
		"				_, m.p[c] = before, m.p[c]-float32(to/gain)", robust},
	{"robust: what was moved forgotten in a crash", "sdk/admm/state.go",
		"			copy(moved, from.Moved)\n", "", robust},
	{"robust: who insists stays at the edge", "sdk/admm/robust.go",
		"inside, scale = false, 0", "", robust},
	{"robust: what was cut off forgotten in a crash", "sdk/admm/state.go",
		"m.robust.cut[i], m.robust.quiet[i] = from.Cut, from.Quiet", "m.robust.quiet[i] = from.Quiet", robust},
	{"robust: evidence of too little noise forgotten in a crash", "sdk/admm/state.go",
		"m.robust.cut[i], m.robust.quiet[i] = from.Cut, from.Quiet", "m.robust.cut[i] = from.Cut", robust},
	{"robust: who has shown much noise is excused", "sdk/admm/robust.go",
		"quiet := max(0, float64(r.quiet[i])+", "quiet := (float64(r.quiet[i]) +", robust},
	{"robust: more noise wanted than a member has", "sdk/admm/robust.go",
		"float64(y/(2*math.Ln2))", "float64(y/(3*math.Ln2))", robust},
	{"robust: the penalty not cut back", "sdk/admm/robust.go",
		"			if inside {\n				m.p[c] -=",
		"			if inside || radius >= 0 {\n				m.p[c] -=", robust},
	{"sign of the step", "sdk/admm/round.go",
		"float32(-m.cfg.Eta.At(m.k()))", "float32(m.cfg.Eta.At(m.k()))", method},
	{"fresh noise when a release is sent again", "sdk/admm/message.go",
		"	m.send = append(m.send, msg)\n}", `	if resent && m.mech != nil {
		fresh := make([]float32, len(m.x))
		_ = m.mech.Release(fresh, m.cfg.Privacy)
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
	{"division by mu", "zoest/estimator.go",
		"c := e.open[i].Sample, float32(loss)", "c := e.open[i].Sample, float32(loss)/e.mu", oracle},
	{"table never refreshed", "zoest/estimator.go",
		"vec.SignReplaceRows(e.table.flat, rows,",
		"vec.SignReplaceRows(append([]float32(nil), e.table.flat...), rows,", oracle},
	{"table of long rows never refreshed", "zoest/estimator.go",
		"vec.SignReplace(e.row(rows[i])[from:to], v,",
		"vec.SignReplace(append([]float32(nil), e.row(rows[i])[from:to]...), v,", oracle},
	{"mean of the table never updated", "zoest/estimator.go",
		"e.v, e.abar, e.held,", "e.v, append([]float32(nil), e.abar...), e.held,", oracle},
	{"batch with replacement", "zoest/estimator.go",
		"	return b.items[:len(b.swaps)]\n", `	out := make([]int, len(b.swaps))
	for i := range out {
		out[i] = b.items[s.IntN(len(b.items))]
	}
	return out
`, oracle},
	{"baseline from the same query", "zoest/estimator.go",
		"e.last[h], c = c, c-e.last[h]", "e.last[h] = c\n			c -= e.last[h]", oracle},
	{"trust from the stage's own losses", "zoest/tracking.go",
		"m.trust*along)", "min(1, max(0, m.both/m.self))*along)", oracle},
	{"slope of the table forgotten in the estimate", "zoest/estimator.go",
		"float32(e.model.trust*float64(e.mu))", "0", oracle},
	{"rows of a Hadamard matrix without their signs", "zoest/walsh.go",
		"sylvester[row%64] ^ -uint64(sign)", "sylvester[row%64]", oracle},

	{"noise before the clip", "dpmech/mechanism.go",
		"	return gamma, clip(s, g.Clip, gamma), nil", `	for i, n := range m.noise {
		s[i] += float32(float64(n) * gamma)
		m.noise[i] = 0
	}
	return gamma, clip(s, g.Clip, gamma), nil`, privacy},
	{"clip of twice the radius", "dpmech/mechanism.go",
		"clip(s, g.Clip, gamma)", "clip(s, 2*g.Clip, gamma)", privacy},
	{"noise rounded down", "dpmech/normal.go",
		"((half+1)>>1 ^ -negative) + negative)", "((half+negative)>>1 ^ -negative) + negative)", privacy},
	{"release rounded down to the wire grid", "dpmech/mechanism.go",
		"math.RoundToEven(float64(sum)*ratio)",
		"math.Floor(float64(sum)*ratio)", privacy},
	{"factor 2 missing in what a release costs", "dpmech/gaussian.go",
		"SetMantExp(clip, 1)", "SetMantExp(clip, 0)", privacy},

	{"fewer releases in the certificate than in the ledger", "dpmech/certificate.go",
		"err == nil && unmade != c.ReservedUnmade", "err == nil && unmade < c.ReservedUnmade", proofs},
	{"other noise in the certificate than in the ledger", "dpmech/certificate.go",
		"if r.gaussian() != m.gaussian() ||", "if r.Clip != m.Clip ||", proofs},
	{"reservations without a release cost nothing", "dpmech/certificate.go",
		"if c.Lifetime == nil {\n		return made",
		"if c.Version > 0 || c.Lifetime == nil {\n		return made", proofs},
	{"another adversary in the certificate than in the fleet", "sdk/audit/audit.go",
		`{"colluders", s.Shared.Colluders, want.Shared.Colluders},`, "", audits},
	{"other shared noise in the certificate than in the fleet", "sdk/audit/audit.go",
		`{"sigma", s.Shared.Sigma, want.Shared.Sigma},`, "", audits},
	{"a gap between releases not seen", "sdk/audit/audit.go",
		"s.Sigma != want.Sigma || s.First != next", "s.Sigma != want.Sigma", audits},
	{"assumptions of shared noise not demanded", "dpmech/certificate.go",
		"wanted = append(wanted, notCoveredShared...)", "_ = notCoveredShared", proofs},
	{"epsilon rounded to nearest", "dpmech/cost.go",
		"!(back < epsilon*(1-1e-9))", "!(back < 0)", proofs},
	{"signature of a certificate not checked", "sdk/audit/audit.go",
		"err := signed.VerifyCertificate(c, own); err != nil {",
		"err := signed.VerifyCertificate(c, own); err != nil && own == nil {", audits},
	{"signature of the last release not checked", "sdk/audit/audit.go",
		`x.fault("head", head.Verify(scope, own))`, "_ = head.Verify(scope, own)", audits},
	{"countersignature not checked", "sdk/audit/audit.go",
		"return x.found.Head.VerifyHeld(scope, x.keys(by.Member), signature)",
		"_ = x.found.Head.VerifyHeld(scope, x.keys(by.Member), signature)\n	return nil", audits},
	{"releases not counted by the last one signed", "sdk/audit/audit.go",
		"n != c.Rounds && (c.TookOverAfter == 0 || n > c.Rounds)", "n < c.Rounds", audits},
	{"the public check after the reservation", "sdk/admm/machine.go",
		"				m.aim()\n				m.reserve = m.err == nil && m.private()\n				continue\n			}\n			m.commit()\n",
		"				m.aimed = true\n				m.reserve = m.private()\n				continue\n			}\n			if m.aim(); m.err == nil {\n" +
			"				m.commit()\n			}\n", edge},
	{"no public check", "sdk/admm/round.go",
		"		err = m.edgesInRange(m.centre)\n	}\n	m.fail(err)", "		err = m.edgesInRange(m.centre)\n	}\n	_ = err", edge},
	{"no clamp on the grid", "sdk/admm/round.go",
		"max(-last, min(last, m.quantize(m.centre[i])+float64(n)))", "m.quantize(m.centre[i])+float64(n)+0*last", edge},
	{"a release that leaves the grid is an error", "sdk/admm/round.go",
		"			steps[i], m.grid[i] = at-m.grid[i], at\n", `			if math.Abs(m.quantize(m.centre[i])+float64(n)) > last {
				return fmt.Errorf("coordinate %d of the model has become too large: %s", i, advice)
			}
			steps[i], m.grid[i] = at-m.grid[i], at
`, edge},
	{"no clamp off the grid", "sdk/admm/round.go",
		"		clamp(m.x)\n", "", edge},
	{"no clamp of messages", "sdk/admm/round.go",
		"		clamp(out)\n", "", edge},
	{"a rule that takes a mark behind the state", "dpmech/resume.go",
		"case marked > saved:", "case marked > saved+1:", resume},
	{"a rule that takes two lines behind the state", "dpmech/resume.go",
		"case reserved > saved+1:", "case reserved > saved+2:", resume},
	{"a mark over the one before", "sdk/state/mark.go",
		"	l.place = 1 - l.place\n", "", ledger},
	{"a mark that is found, and perhaps on no disk", "sdk/state/ledgeropen.go",
		"		err = l.fault(l.keepMark(m))\n", "", ledger},
	{"a mark that forgets what was not sent", "sdk/state/mark.go",
		"Unsent: l.log.unsent})", "})", ledger},
	{"a mark that is not written", "sdk/state/ledger.go",
		"	if !l.log.mark(id, round) {\n", "	if l.log.mark(id, round); round > 0 {\n", ledger},
	{"a line that counts as marked when the ledger is opened", "sdk/state/ledgeropen.go",
		"			l.log.settle(*m)\n", "			l.log.settle(highWater{Head: l.log.head(l.log.seq())})\n", ledger},
	{"claims without a signature", "sdk/trust/check.go",
		"		if held == 0 {\n			return nil, nil", "		if held >= 0 {\n			return nil, nil", claims},
	{"a claim about another release than the signed one", "sdk/trust/check.go",
		"m.Kind == admm.Release && signed.Digest(m.Vector, m.Grid) != r.Value {",
		"m.Kind == admm.Release && signed.Digest(m.Vector, m.Grid) == [32]byte{} {", claims},
	{"a replacement whose number nobody has signed", "sdk/trust/check.go",
		"shown == nil && m.Epoch > 0", "shown == nil && m.Epoch > 9", claims},
	{"a start from another place than the signed one", "sdk/trust/check.go",
		"own.Value != signed.Digest(m.Vector, m.Grid)", "own.Value == [32]byte{}", claims},
	{"a takeover that is charged for one release", "sdk/account.go",
		"round <= a.rounds; round++", "round <= 1; round++", order},
	{"a replacement that looks at the data", "sdk/admm/round.go",
		"return !m.cfg.NonPrivate && m.cfg.Epoch > 0 }", "return m.cfg.Epoch > MaxTakeovers }", replace},
	{"an edge that begins anew at one end's place", "sdk/admm/takeover.go",
		"(x + z[c])", "(x + x)", replace},
	{"a neighbor that goes on with the lost device once it has said where it stands", "sdk/admm/takeover.go",
		"case e.joining > 0:", "case false:", replace},
	{"an edge that begins anew after a release that is made without it", "sdk/admm/takeover.go",
		"m.round > msg.Round || m.round == msg.Round && (m.local || m.due)", "false", replace},
	{"worlds: a release that is made before it was charged", "sdk/admm/machine.go",
		"for m.err == nil && !m.reserve && !m.released {", "for m.err == nil && !m.released {", worlds},
	{"worlds: the next round before a release was stored", "sdk/admm/machine.go",
		"for m.err == nil && !m.reserve && !m.released {", "for m.err == nil && !m.reserve {", worlds},
	{"worlds: an early end of a round that has begun", "sdk/admm/stop.go",
		"m.cfg.Data(m.begunRound()))", "m.cfg.Data(m.round))", worlds},
	{"worlds: a start from a state that is lost", "sdk/admm/takeover.go",
		"m.round > since+1 || since == m.lost {", "m.round > since+1 {", worlds},
	{"worlds: an edge that begins anew after an early end is not read again", "sdk/admm/state.go",
		"m.cfg.planned()})", "m.last()})", worlds},
	{"a takeover in the middle of mixing", "sdk/admm/takeover.go",
		"block := 1 + cfg.Mixing;", "block := 1;", replace},
	{"a checkpoint that a smaller one replaces", "sdk/state/heads.go",
		"have.All > most.All ||", "have.All < most.All ||", suite{"./sdk/state", "LargestCheckpoint"}},
	{"a lost ledger whose cost is not inherited", "sdk/inherit.go",
		"		if lost := shown[id]; l.Inherits(id) {", "		if lost := shown[id]; !l.Inherits(id) {", suite{"./sdk", "Inherit"}},
	{"a claim that has a double", "sdk/trust/check.go",
		"before.Contradicts(&r) {", "before.Contradicts(&r) && before == nil {", claims},
	{"a mark before the state", "sdk/durable.go",
		"	if n.cfg.Store != nil {\n		if err := n.save(&s); err != nil {\n			return err\n		}\n	}\n" +
			"	if err := n.account.mark(n.method().Data(s.Round)); err != nil {\n		return err\n	}\n",
		"	if err := n.account.mark(n.method().Data(s.Round)); err != nil {\n		return err\n	}\n	if n.cfg.Store != nil {\n		if err := n.save(&s); err " +
			"!= nil {\n" +
			"			return err\n		}\n	}\n", order},
	{"a release that is not marked", "sdk/durable.go",
		"	if err := n.account.mark(n.method().Data(s.Round)); err != nil {\n		return err\n	}\n", "", order},
	{"a kept release that is sent again without a mark", "sdk/durable.go",
		"	if err := n.account.mark(n.method().Data(round)); err != nil { // the crash may have come before that\n		return err\n	}\n", "", order},
	{"a lost release that is charged and not marked", "sdk/durable.go",
		"errors.Join(err, n.account.mark(m.Data(e.Held)))", "err", order},

	{"shared: both ends add", "sdk/admm/round.go",
		"Subtract: m.client() > peer}", "Subtract: false}", sums},
	{"shared: with one neighbor less", "sdk/admm/round.go",
		"	for i := range m.edges {\n		if m.gone(i) {\n			continue\n		}\n		peer",
		"	for i := range m.edges[min(1, len(m.edges)):] {\n		if m.gone(i) {\n			continue\n		}\n		peer", sums},
	{"shared: the keys of the release before", "sdk/admm/round.go",
		"m.cfg.PairKey(peer, m.round+1)", "m.cfg.PairKey(peer, max(1, m.round))", sums},
	{"shared: own noise only in a blank release", "sdk/admm/round.go",
		"Shared.Absent {\n		return g.Alone(), nil", "Shared.Absent {\n		return g, nil", sums},
	{"shared: own noise only without a key", "sdk/admm/round.go",
		"			clear(m.pairs)\n			return g.Alone(), nil", "			clear(m.pairs)\n			return g, nil", sums},
	{"shared: with the others if a key is missing", "sdk/admm/round.go",
		"			clear(m.pairs)\n			return g.Alone(), nil", "			continue", sums},
	{"shared: keys that stay in memory", "sdk/admm/records.go", "	defer clear(pairs)\n", "", sums},
	{"shared: one key for all releases", "sdk/pair/secret.go",
		"	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(release)))\n", "	_ = binary.BigEndian\n", keys},
	{"shared: one key for all fleets", "sdk/pair/secret.go",
		"	mac.Write(fleet[:])\n", "", keys},
	{"shared: with sigma of the own noise", "dpmech/pair.go",
		"m.pair.expand(m.shared, shift+n)", "m.pair.expand(m.shared, shift)", pairs},
	{"shared: added at both ends", "dpmech/pair.go",
		"		for i, w := range m.shared {\n			if p.Subtract {\n				w = -w\n			}\n			m.noise[i] += w\n		}\n",
		"		for i, w := range m.shared {\n			m.noise[i] += w\n		}\n", pairs},
	{"shared: in place of the own noise", "dpmech/pair.go",
		"m.noise[i] += w", "m.noise[i] = w", pairs},
	{"shared: drawn with the sampler of the build", "dpmech/mechanism.go",
		"pair: normal{steady: true}", "pair: normal{}", pairs},
	{"shared: a vector that stays in memory", "dpmech/pair.go",
		"	defer clear(m.shared)\n", "", pairs},
	{"shared: the key of a vector that stays in memory", "dpmech/normal.go",
		"	clear(n.key[:])\n	clear(n.buf", "	clear(n.buf", pairs},
	{"shared: a release alone with less than the effective noise", "dpmech/pair.go",
		"for alone.Sigma < g.Shared.Effective {", "for 2*alone.Sigma < g.Shared.Effective {", pairs},
	{"shared: the named adversary's cost by the own noise", "dpmech/gaussian.go",
		"return g.rho(g.Shared.Effective)", "return g.rho(g.Sigma)", pairs},
	{"shared: everybody's cost by the effective noise", "dpmech/gaussian.go",
		"RhoAll() float64 { return g.rho(g.Sigma) }", "RhoAll() float64 { return g.Rho() }", pairs},
	{"shared: no limit against all others", "dpmech/filter.go",
		"	if err == nil && l.EpsilonAll > 0 {", "	if err == nil && l.EpsilonAll < 0 {", pairs},
	{"shared: no limit against all others in a certificate", "dpmech/cost.go",
		"if c.AgainstAll != nil && l.EpsilonAll > 0 {", "if c.AgainstAll != nil && l.EpsilonAll < 0 {", pairs},
	{"curve: levels of a certificate not checked by the graph", "sdk/audit/audit.go",
		"if !slices.Equal(found, want) {", "if len(found) != len(want) {", audits},
	{"curve: the cost in a certificate not checked", "dpmech/curve.go",
		"notBelow(have.Rho, want.Rho) && ", "", proofs},
	{"curve: levels of a certificate that rise", "dpmech/curve.go",
		"p.Effective <= before.Effective", "p.Effective > 0", proofs},
	{"curve: an epsilon with one digit less", "dpmech/curve.go",
		"2-int(math.Floor(math.Log10(x)))", "1-int(math.Floor(math.Log10(x)))", suite{"./dpmech", "EpsilonText"}},
	{"curve: a cost with colluders that is too low", "dpmech/curve.go",
		"(x - named) / (own - named)", "(x - named) / own", suite{"./dpmech", "Curve"}},
	{"curve: the noise that is left to outsiders for all", "sdk/levels.go",
		"at.Colluders = c\n", "at.Colluders = 0\n", suite{"./sdk", "Levels$"}},
	{"forecast: half the parameters are all", "sdk/forecast.go",
		"half.Dim = (f.Dim + 1) / 2", "half.Dim = f.Dim", suite{"./sdk", "ForecastHalved"}},
	{"scale of a column not applied", "sdk/task/fitted.go",
		"z *= s.Scale[j]", "z *= 1", suite{"./sdk/task", "Scale"}},
	{"scale of a column that is none", "sdk/task/scale.go",
		"for _, name := range slices.Sorted(maps.Keys(left)) {", "for _, name := range slices.Sorted(maps.Keys(left))[:0] {", suite{"./sdk/task", "Scale"}},
	{"shared: the strongest adversary of all releases", "dpmech/total.go",
		"min(a.colluders, b.colluders)", "max(a.colluders, b.colluders)", pairs},
	{"shared: a lifetime limit that is none against all others", "dpmech/filter.go",
		"	if l != nil && l.EpsilonAll == 0 {", "	if l != nil && l.EpsilonAll < 0 {", pairs},
	{"shared: an effective sigma below the own one", "dpmech/pair.go",
		"s.Effective >= g.Sigma &&", "s.Effective > 0 &&", pairs},
	{"shared: a ratio that is no power of two", "dpmech/pair.go",
		"fraction == 0.5 && math.Ldexp(sigma, n-1) == s.Sigma", "fraction >= 0.5", pairs},
	{"a secret that is the same in every run", "sdk/pair/secret.go",
		"hkdf.Key(sha256.New, shared, fleet[:],", "hkdf.Key(sha256.New, shared, nil,", agree},
	{"a secret that is the same for other names", "sdk/pair/secret.go",
		"append(append(info, e.name...), e.public...)", "append(info, e.public...)", agree},
	{"a key that makes the noise of all releases", "sdk/pair/secret.go",
		"uint64(release))", "0)", sharing},
	{"an offer that counts before its time", "sdk/pair/kept.go",
		"k.From <= release && o.Round <= release", "k.From <= release", agree},
	{"a key pair that is told and not kept", "sdk/secrets.go",
		"		return err\n	}\n	return n.keepSecrets()\n", "		return err\n	}\n	return nil\n", survive},
	{"secrets that outlive their run", "sdk/run.go",
		"			r.dropSecrets()\n", "", sharing},
	{"an offer that nobody has signed", "sdk/trust/secrets.go",
		"if err := o.Verify(peer.Scope, l.Keys(peer.Name)); err != nil {",
		"if err := o.Verify(peer.Scope, l.Keys(peer.Name)); err != nil && peer == nil {", sharing},
	{"a second key of one device", "sdk/secrets.go",
		"max(m.Round, r.machine.Heard(m.From))", "m.Round", sharing},
	{"shared noise without the key of one neighbor", "sdk/admm/round.go",
		"			return g.Alone(), nil\n		}\n		m.pairs = append", "			continue\n		}\n		m.pairs = append", missing},

	{"still falling: noise counts as a fall", "sdk/trend.go", "before-last > t.Spread &&", "before-last > 0 &&", falling},
	{"still falling: rounds of mixing count", "sdk/trend.go", "	if c.count == 0 {\n		return\n	}\n", "	c.count = max(1, c.count)\n",
		falling},
	{"saddle: parameters of which a half matters", "sdk/saddle.go", "case p.matters(b):", "case len(b) > 8 && p.matters(b):", saddles},
	{"limit of stability", "sdk/graph/spectrum.go",
		"StabilityLimit = 8.0 / 3", "StabilityLimit = 4.0", network},
}
