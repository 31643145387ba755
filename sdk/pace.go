package sdk

import "time"

const (
	burst = 1000 // frames that a node takes without a pause while it makes no progress
	pause = time.Millisecond
)

// pace decides how often a run that makes no progress sends its messages again, and how fast it takes frames.
type pace struct {
	timer    *time.Timer
	resend   time.Duration // the shortest interval between two ticks
	interval time.Duration // from the last tick to the next
	moved    bool          // the run made progress since the last tick
	idle     int           // frames taken since the last progress
}

func newPace(resend time.Duration) pace {
	return pace{timer: time.NewTimer(resend), resend: resend, interval: resend, moved: true}
}

// progress takes note of progress, and ticks soon again.
func (p *pace) progress() {
	p.moved, p.idle = true, 0
	if p.interval > p.resend {
		p.interval = p.resend
		p.timer.Reset(p.interval)
	}
}

// ticked starts the timer again after a tick. Without progress it backs off, unless steady: it doubles the time between
// ticks. A neighbor that restarts need not wait for a tick, because the node answers its probe and serves its new
// connection at once.
func (p *pace) ticked(steady bool) {
	switch {
	case p.moved:
	case steady:
		p.interval = p.resend
	default:
		p.interval = min(2*p.interval, 16*p.resend)
	}
	p.moved = false
	p.timer.Reset(p.interval)
}

// took pauses after a frame if the run takes many of them without progress.
func (p *pace) took() {
	if p.idle++; p.idle > burst {
		time.Sleep(pause)
	}
}
