package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// profiles, which the build tag pprof sets, serves profiles of the process under /debug/pprof/.
var profiles http.Handler

// newMonitor returns what watches the node. Only what ends up on the page needs the device's own data.
func (p *participant) newMonitor() (*monitor.Monitor, error) {
	began := time.Now()
	cfg := monitor.Config{
		Fleet: p.fleet, Name: p.file.Name, Ledger: p.ledger,
		Links: func() []monitor.Link { return links(p.tr, began) },
	}
	if test := p.own.Test; p.http != "" && test != nil {
		cfg.Score = func(x []float32) (loss, accuracy float64) { return test.MeanLoss(x), test.Accuracy(x) }
	}
	return monitor.New(cfg)
}

// links says how a transport's connections are.
func links(tr *ws.Transport, began time.Time) []monitor.Link {
	var all []monitor.Link
	for _, peer := range tr.Peers() {
		l := monitor.Link{Name: peer.Name, Connected: peer.Connected, Sent: peer.Sent, Received: peer.Received}
		since := peer.Since
		if since.IsZero() {
			since = began
		}
		l.Seconds = time.Since(since).Seconds()
		if peer.Err != nil && !peer.Connected {
			l.Fault = peer.Err.Error()
		}
		if peer.Refused != nil {
			l.Refusal = peer.Refused.Error()
		}
		all = append(all, l)
	}
	return all
}

// attend lets others see the node, and stop it, while it runs: the page, the control socket, the service manager. stop ends the
// run. The function that it returns ends all that but the socket's connections, see control.
func (p *participant) attend(stop context.CancelCauseFunc) (leave func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	if p.http != "" {
		l, err := monitor.Listen(p.http)
		if err != nil {
			cancel()
			return nil, err
		}
		p.say("page: http://%s/", l.Addr())
		work.Go(func() { monitor.Serve(ctx, l, pages(p.mon.Handler())) })
	}
	ctl, err := openControl(p.file.State, p.mon, func() { stop(errStopped) })
	if err != nil {
		p.say("control: %v; the node goes on without, and can be stopped with a signal", err)
	}
	p.ctl = ctl
	if p.tell.socket != "" {
		work.Go(func() { p.report(ctx) })
	}
	return func() {
		cancel()
		ctl.unlink()
		work.Wait()
	}, nil
}

// pages adds the profiles, if the program has them, to what a page's handler serves.
func pages(h http.Handler) http.Handler {
	if profiles == nil {
		return h
	}
	guarded := monitor.Guard(profiles)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/debug/pprof/") {
			guarded.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// errStopped ends a run that somebody has asked to end.
var errStopped = errors.New("stopped, as asked; run again to go on")

// report tells the service manager how the node is. A sign of life is given only while the node works, or waits for others: one whose
// oracle or disk hangs is silent, and may be started again.
func (p *participant) report(ctx context.Context) {
	tick := time.NewTicker(p.tell.pace())
	defer tick.Stop()
	for {
		st := p.mon.Status()
		p.tell.say(p.mark() + summary(&st))
		if w := p.tell.watchdog; w > 0 && p.mon.Stalled() < w/2 {
			p.tell.tell("WATCHDOG=1")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// summary says in a line where a node stands.
func summary(s *monitor.Status) string {
	return fmt.Sprintf("round %d of %d, %s", s.Round, s.Rounds+s.Cooldown, activity(s))
}

// activity says what a node is doing.
func activity(s *monitor.Status) string {
	phase := s.Phase
	if phase == monitor.Waiting && s.Seconds < 2 { // every round ends with that
		if phase = monitor.Querying; s.Round >= s.Rounds {
			phase = monitor.Cooling
		}
	}
	switch phase {
	case monitor.Starting:
		return "starting"
	case monitor.Querying:
		if s.Stalled > 10 {
			return "asking the oracle, which has not answered for a while"
		}
		return "learning"
	case monitor.Waiting:
		return "waiting for " + quoted(s.Waiting)
	case monitor.Cooling:
		return "cooling down"
	case monitor.Serving:
		return "done, serving neighbors"
	case monitor.Ended:
		return "done"
	case monitor.Failed:
		return "failed: " + s.Fault
	case monitor.Fresh:
		return "not running; nothing was ever released"
	case monitor.Stopped:
		return "not running; it would go on from here"
	case monitor.Finished:
		return "not running; its run is done"
	case monitor.Damaged:
		return "not running; its state is damaged"
	}
	return string(s.Phase)
}

// quoted lists names.
func quoted(names []string) string {
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprintf("%q", name))
	}
	return strings.Join(all, ", ")
}
