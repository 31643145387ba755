package admm

import (
	"errors"
	"math"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// device is the device of the besieged member: its disk, and its process, if any. The process performs a node's duties in
// the order of sdk/run.go and sdk/durable.go: reserve, draw, store, mark, send. If a write fails, or the process dies
// during a write, the disk has the old content, the new content, or nothing usable.
type device struct {
	w        *siege
	ledger   *lines
	slots    [2]stored // by release mod 2
	without  []int     // neighbors in quarantine
	finished bool      // a process has reached the end of the run

	m        *Machine // nil: there is no process
	reserved int      // ledger entries when the process began
	marked   int

	asked  bool         // whether the device requested a loss since the last release
	drawn  map[int]bool // releases that were drawn, stored or not
	looked map[int]bool // by release: whether the last stored release of this number has data
	shown  map[place]content
}

// lines is the part of a ledger that belongs to the run, and the run's high-water mark.
type lines struct {
	reserved, marked int
	drawing          bool // a release was reserved and is not stored yet
	lost             bool // the process died while drawing
	made             int  // the number of rounds with a stored release with data
}

type stored struct {
	there bool
	State
}

// errDead reports that a process has ended: it was killed, or a write failed.
var errDead = errors.New("dead")

func (d *device) fresh() bool { return !d.slots[0].there && !d.slots[1].there }

// newest returns the newest stored state, and the state stored before it.
func (d *device) newest() (newest, before *stored) {
	for i := range d.slots {
		if s := &d.slots[i]; s.there && (newest == nil || s.Round > newest.Round) {
			newest, before = s, newest
		} else if s.there {
			before = s
		}
	}
	if newest != nil && before != nil && before.Round != newest.Round-1 {
		before = nil
	}
	return newest, before
}

// write changes the disk or ends the process. If the process ends, the disk has changed, is unchanged, or holds nothing
// usable.
func (d *device) write(change, tear func()) error {
	w := d.w
	if w.risk == 0 || w.chance.IntN(w.risk) > 0 {
		change()
		return nil
	}
	w.ends["crash"]++
	d.ledger.lost = d.ledger.lost || d.ledger.drawing
	switch w.chance.IntN(3) {
	case 0:
		change()
	case 1:
		if tear != nil {
			tear()
			w.ends["torn"]++
		}
	}
	return errDead
}

// alive sometimes ends the process between two duties. It returns an error if the process has ended.
func (d *device) alive() error {
	return d.write(func() {}, nil)
}

func (d *device) die() {
	d.m, d.asked, d.ledger.drawing = nil, false, false
}

// start starts a process from what is on the disk, as sdk.New does.
func (d *device) start() {
	w, cfg := d.w, d.w.cfg
	w.ends["start"]++
	cfg.Incarnation = w.chance.Uint64() >> 16
	d.reserved, d.marked = d.ledger.reserved, d.ledger.marked
	newest, before := d.newest()
	anew := w.fault == "start anew after a damaged state" && newest != nil && before == nil && newest.Round > 1
	var err error
	if newest == nil || anew {
		if !anew && w.fault != "start anew after a lost state" {
			err = dpmech.CheckResume(0, d.reserved, d.marked)
		}
		if err == nil {
			d.m, err = New(cfg)
		}
	} else {
		if err = dpmech.CheckResume(cfg.Data(newest.Round), d.reserved, d.marked); err == nil {
			var older *State
			if before != nil {
				older = &before.State
			}
			d.m, err = Restore(cfg, newest.State, older)
		}
		if err == nil {
			err = d.mark(newest.Round)
		}
	}
	if err != nil {
		if !errors.Is(err, errDead) && w.ends["lost state"] == 0 {
			w.breaks("a device does not start: %v", err)
		}
		w.ends["refused to start"]++
		d.die()
		return
	}
	for _, j := range d.without {
		d.m.Quarantine(j)
	}
}

// duties performs the machine's duties until it waits, like the loop of a node. It may leave queries open once.
func (d *device) duties() {
	for n := 0; d.m != nil && d.w.fail == ""; n++ {
		if d.m.Alone() && !d.m.Status().Complete {
			d.die()
			return
		}
		r, err := d.m.Ready()
		for _, v := range d.m.Verdicts() {
			d.drop(v.From)
		}
		if err == nil && d.m.Alone() && r.Reserve > 0 {
			continue
		}
		if err == nil {
			err = d.perform(&r)
		}
		if err != nil {
			if back := (*RollbackError)(nil); errors.As(err, &back) {
				d.w.ends["rolled back"]++
				if d.w.fault == "charge what is claimed" {
					_ = d.reserve(d.w.cfg.Data(back.Held))
				}
			}
			d.die()
			return
		}
		switch {
		case r.Finished:
			d.w.ends["finished"]++
			d.finished = true
			d.die()
			return
		case r.Reserve > 0 || r.Released > 0:
		case len(r.Queries) == 0 || d.w.chance.IntN(8) == 0:
			return
		default:
			d.answer(&r)
		}
	}
}

func (d *device) answer(r *Ready) {
	losses := make([]float64, len(r.Queries))
	for i, q := range r.Queries {
		losses[i] = lossFunc(1, q.Point, q.Sample)
	}
	d.asked = true
	if err := d.m.Answer(losses...); err != nil {
		d.w.breaks("%v", err)
	}
	if d.w.fault == "reserve too early" {
		_ = d.reserve(d.m.k() + 1)
	}
}

func (d *device) perform(r *Ready) error {
	if r.Reserve > 0 && d.w.fault != "nothing is reserved" {
		if err := d.reserve(r.Reserve); err != nil {
			return err
		}
	}
	if r.Released > 0 {
		if d.drawn[r.Released] {
			d.w.ends["draw again"]++
		}
		d.note(&d.drawn, r.Released)
		if d.w.fault == "send before store" {
			d.send(r.Send)
		}
		if err := d.record(); err != nil {
			return err
		}
	}
	return d.send(r.Send)
}

func (d *device) note(set *map[int]bool, release int) {
	if *set == nil {
		*set = map[int]bool{}
	}
	(*set)[release] = true
}

func (d *device) reserve(round int) error {
	l := d.ledger
	if round > d.w.budget {
		return errDead
	}
	if round <= l.reserved && round > d.reserved || round <= l.marked && round > d.marked {
		return errDead
	}
	l.drawing = true
	if err := d.write(func() { l.reserved = max(l.reserved, round) }, nil); err != nil {
		return err
	}
	return d.alive()
}

func (d *device) record() error {
	w, s := d.w, stored{there: true, State: d.m.State().copied()}
	slot := &d.slots[s.Round%2]
	looked := d.asked
	d.asked = false
	if newest, _ := d.newest(); newest != nil && s.Round != newest.Round+1 && w.fault == "" {
		w.breaks("release %d is stored after release %d", s.Round, newest.Round)
	}
	err := d.write(func() {
		*slot = s
		if delete(d.looked, s.Round); looked {
			d.note(&d.looked, s.Round)
			d.ledger.made++
			d.ledger.drawing, d.ledger.lost = false, false
		}
	}, func() { *slot = stored{} })
	if err == nil {
		err = d.alive()
	}
	if err == nil && w.fault != "send before mark" {
		err = d.mark(s.Round)
	}
	return err
}

func (d *device) mark(release int) error {
	l, cfg := d.ledger, d.w.cfg
	round := cfg.Data(release)
	if round < 1 {
		return nil
	}
	if round > l.reserved && d.w.fault == "" {
		d.w.breaks("round %d is marked and not reserved", round)
	}
	return d.write(func() { l.marked = max(l.marked, round) }, nil)
}

// drop puts a neighbor in quarantine. The process continues even if the store fails to save the quarantine.
func (d *device) drop(peer int) {
	d.w.ends["edge dropped"]++
	d.m.Quarantine(peer)
	if d.w.chance.IntN(8) > 0 {
		d.without = append(d.without, peer)
	}
}

func bitsOfPayload(p Payload) (c content) {
	for i, v := range p.Vector {
		c.number[i] = math.Float32bits(v)
	}
	for i, v := range p.Grid {
		c.grid, c.number[i] = true, uint32(v)
	}
	return c
}
