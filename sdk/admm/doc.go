// Package admm implements SPADE-DFL at one client as a machine without a clock, a goroutine, a socket or a disk:
// Algorithm 1 of M. Wei, M. Zhu, J. Chen, W. Yu and D. Chen, "SPADE-DFL: Communication-Efficient Decentralized
// Federated Learning via Derivative-Free Linearized ADMM". Equation numbers are those of the paper.
//
// A [Machine] takes three inputs: a neighbor's message ([Machine.Receive]), the answers to its open queries
// ([Machine.Answer]), and, where frames may get lost, a tick ([Machine.Tick]). After each input, and once at the start,
// call [Machine.Ready], which returns the driver's duties. The order of the duties is part of the contract: charge a
// release before it is made, store it before it is sent, send, then query. The driver decides how to perform the
// duties. A driver may be a node with websockets, or a loop that runs a thousand machines in one goroutine. The same
// inputs give the same bits.
//
// A driver that outlives a crash stores [Machine.State] with each release, and begins again with [Restore]. A driver that
// does not trust its neighbors takes [Machine.Verdicts] after each call of Ready, and drops an edge with
// [Machine.Quarantine].
//
// The files testdata/*.txt show the machines of a few members at work, with losses and crashes. Read round.txt
// first.
//
// # A round
//
// Round k turns the released model x_k into x_(k+1):
//
//	penalty      p = rho*|N_i|*x - sum_j z_ij, frozen for the round             eq. (6)
//	local steps  phi -= eta*(v + mu*beta*p), tau times, with the estimate v     eq. (7)
//	release      x = x - tau*eta*mu*beta*p + clip(s) + nu, s = -eta*sum_t v_t   eq. (8)
//	message      m_ij = z_ij - 2*rho*x, for every neighbor j                    eq. (9)
//	z-update     z_ij = (z_ij - m_ji)/2, with every neighbor's message          eq. (10)
//
// The estimate v is eq. (5), implemented by package zoest. In the paper's source the equations are labeled penalty,
// local-update, private-release, message and z-update.
//
// What a client sends is the release x itself, the same for all neighbors. Each end of an edge holds z_ij and z_ji, and
// computes m_ij and m_ji from the two releases.
//
// A message has the number of the release that it carries, 1 to [Config.Last]. A round needs every neighbor's message
// of the previous round, so neighbors are at most one round apart, and a neighbor's message of round k+1 acknowledges
// this client's message of round k.
//
// Rounds of mixing and cool-down use no data and cost nothing. They have no penalty, no local steps and no noise: a client
// moves by the sum of its flows along the edges ([Consensus]), and the models in the network converge. z stays as it is
// until the next round with data.
package admm
