package zoest

import "github.com/spade-dfl/spade-edge/zoest/vec"

// paper is the estimator of the paper. The row a_h of component h is the vector q of its latest query, eq. (3); Fill
// replaces all rows, eq. (4), and a step those of its batch, eq. (5).
type paper struct {
	average
	filling bool
}

func (p *paper) begin(s stage) bool {
	if p.filling = s.filling; s.filling {
		p.stale = 0
		clear(p.abar)
	} else {
		p.step()
	}
	return true
}

// answer is eq. (3) (q-generic): q = u * f_h(x + mu*u) / c_u, with c_u = 1.
func (p *paper) answer(queries []Query, a *answers) {
	fresh := a.fresh[a.n:][:len(queries)]
	for i, loss := range a.losses[a.n:][:len(queries)] {
		fresh[i] = float32(loss)
	}
}

// fold is eq. (5) (memory-estimator): v = abar + mean over the batch of q_h - a_h. Then q_h replaces a_h in the table and
// in abar.
func (p *paper) fold(rows []int, a *answers) {
	if !p.filling {
		p.stale += len(rows)
	}
	if p.d <= piece {
		if signs := a.signsOf(0, len(rows)); p.filling {
			vec.SignFillRows(p.rows, rows, p.abar, a.fresh[:a.n], signs)
		} else {
			vec.SignReplaceRows(p.rows, rows, p.v, p.abar, a.fresh[:a.n], signs, p.byB, p.byM)
		}
		return
	}
	for from := 0; from < p.d; from += piece {
		to := min(from+piece, p.d)
		abar, v := p.abar[from:to], p.v[from:to]
		for i, c := range a.fresh[:a.n] {
			u, row := a.dirs[i], p.row(rows[i])[from:to]
			if p.filling {
				u.add(abar, from, c)
				vec.SignScale(row, c, u[from/64:])
			} else {
				vec.SignReplace(row, v, abar, c, u[from/64:], p.byB, p.byM)
			}
		}
	}
}

func (p *paper) end() {
	if p.filling {
		vec.Scale(p.abar, p.byM)
	}
}
