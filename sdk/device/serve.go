package device

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/transport"
)

// newMonitor returns the monitor of the node. The monitor has access to the device's data only if the page is served.
func (d *Device) newMonitor(began time.Time) (*monitor.Monitor, error) {
	cfg := monitor.Config{
		Fleet: d.fleet, Name: d.File.Name, Ledger: d.ledger, Program: d.Program,
		Links: func() []monitor.Link { return Links(d.link.Peers(), began, d.File.SilentAfter) }, Restarts: d.source.Restarts,
	}
	cfg.PerRound, _ = plan.Cost(d.fleet, d.source.Samples)
	if test := d.source.Test; d.HTTP != "" && test != nil {
		cfg.Majority = test.Majority()
		cfg.Score = func(x []float32) (loss, accuracy float64) { return test.MeanLoss(x), test.Accuracy(x) }
	}
	if d.HTTP != "" {
		cfg.Asked = d.source.Asked
	}
	return monitor.New(cfg)
}

// Links returns the state of a transport's connections in the form of package monitor. began is when the transport was
// opened. A neighbor behind a broker is silent if nothing from it has arrived for the time silentAfter; 0 means two
// minutes, in which a node sends four heartbeats.
func Links(peers []transport.PeerStatus, began time.Time, silentAfter time.Duration) []monitor.Link {
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	var all []monitor.Link
	for _, peer := range peers {
		since := peer.Since
		if since.IsZero() {
			since = began
		}
		l := monitor.Link{
			Name: peer.Name, Broker: peer.Broker, Connected: peer.Connected, Sent: peer.Sent, Received: peer.Received, How: peer.How,
			Address: peer.Where, Proxy: peer.Proxy, Lost: peer.Lost, LostBy: monitor.InWords(text(peer.LostBy), peer.Broker),
			Refusal: text(peer.Refused), Seconds: time.Since(since).Seconds(),
		}
		heard := began
		if !peer.Heard.IsZero() {
			heard, l.Heard = peer.Heard, time.Since(peer.Heard).Seconds()
		}
		switch silence := time.Since(heard); {
		case !peer.Connected:
			l.Fault = monitor.InWords(text(peer.Err), peer.Broker)
		case peer.Broker && silence >= cmp.Or(silentAfter, 2*time.Minute):
			l.Connected, l.Silent, l.Seconds = false, true, silence.Seconds()
		}
		all = append(all, l)
	}
	return all
}

// serve starts the metrics, the page, the control socket and the reports to a service manager. It calls stop to end the
// run. The returned function leave ends everything that serve started, except open connections of the control socket;
// see openControl.
func (d *Device) serve(stop context.CancelCauseFunc) (leave func(), err error) {
	var metrics, page net.Listener
	if m := d.File.Metrics; m != nil {
		if metrics, err = net.Listen("tcp", m.Listen); err != nil {
			return nil, fmt.Errorf(`device: "metrics" in the node file: %w`, err)
		}
		d.say("metrics: %s", metrics.Addr())
		if d.tls != nil {
			metrics = tls.NewListener(metrics, d.tls)
		}
	}
	if d.HTTP != "" {
		if page, err = monitor.Listen(d.HTTP); err != nil {
			if metrics != nil {
				_ = metrics.Close()
			}
			return nil, fmt.Errorf(`device: "http": %w`, err)
		}
		d.say("page: http://%s/", page.Addr())
	}
	unlink, err := d.openControl(func() { stop(ErrStopped) })
	if err != nil {
		d.say("control: %v; the node runs without a control socket, so only a signal can stop it", err)
		unlink = func() error { return nil }
	}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	if metrics != nil {
		work.Go(func() { monitor.Serve(ctx, metrics, d.monitor.Remote(d.token)) })
	}
	if page != nil {
		work.Go(func() { monitor.Serve(ctx, page, d.monitor.Handler()) })
	}
	if d.manager.socket != "" {
		work.Go(func() { d.report(ctx) })
	}
	return func() {
		cancel()
		_ = unlink()
		work.Wait()
	}, nil
}

// report notifies the service manager. It sends a keepalive only while the node computes or waits for neighbors, so
// that the service manager can restart a node whose oracle or disk hangs.
func (d *Device) report(ctx context.Context) {
	tick := time.NewTicker(d.manager.interval())
	defer tick.Stop()
	for {
		st := d.monitor.Status()
		d.manager.setStatus(d.prefix() + st.Progress() + ", " + Activity(&st))
		if w := d.manager.watchdog; w > 0 && st.Stalled < w.Seconds()/2 {
			d.manager.send("WATCHDOG=1")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Activity returns a description of what a node is doing.
func Activity(s *monitor.Status) string {
	phase := s.Phase
	if phase == monitor.Waiting && s.Seconds < 2 { // ignores the short wait at the end of every round
		if phase = monitor.Querying; s.Round >= s.Rounds {
			phase = monitor.Cooling
		}
	}
	switch {
	case phase == monitor.Waiting:
		return "waiting for " + explain.Names(s.Waiting)
	case phase == monitor.Failed:
		return "failed: " + s.Fault
	case phase != monitor.Querying:
		return cmp.Or(activities[phase], string(phase))
	case s.Stalled > 10:
		return "waiting for the oracle, which has not answered for a while"
	case s.Round%(1+s.Mixing) > 0:
		return "mixing"
	}
	return "learning"
}

var activities = map[monitor.Phase]string{
	monitor.Cooling:  "cooling down",
	monitor.Serving:  "done, serving neighbors",
	monitor.Ended:    "done",
	monitor.Fresh:    "not running; it has released nothing",
	monitor.Stopped:  "not running; it can continue from here",
	monitor.Finished: "not running; its run is done",
	monitor.Damaged:  "not running; its state is damaged",
}

// notifier reports to the service manager like sd_notify(3), with datagrams to the socket that the environment names.
// Without a socket it does nothing. It ignores errors.
type notifier struct {
	socket   string        // a path, or "@" and an abstract name; empty for none
	watchdog time.Duration // maximum interval between keepalives; 0 for none
	status   string        // the status line that was sent last
}

// newNotifier reads the service manager's variables from the environment, and unsets them so that child processes do
// not inherit them.
func newNotifier() *notifier {
	n := &notifier{socket: os.Getenv("NOTIFY_SOCKET")}
	usec, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	pid := os.Getenv("WATCHDOG_PID")
	if err == nil && usec > 0 && usec < 1<<52 && n.socket != "" && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.watchdog = time.Duration(usec) * time.Microsecond
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(name) // cannot fail for such names
	}
	return n
}

// send sends an assignment such as "READY=1".
func (n *notifier) send(assignment string) {
	if n.socket == "" {
		return
	}
	conn, err := net.Dial("unixgram", n.socket) // Go also reads a leading @ as an abstract name
	if err != nil {
		return
	}
	_, _ = conn.Write([]byte(assignment))
	_ = conn.Close()
}

// setStatus sends the line that "systemctl status" shows, unless the line is unchanged. Only one goroutine calls
// setStatus.
func (n *notifier) setStatus(line string) {
	if line != n.status {
		n.status = line
		n.send("STATUS=" + line)
	}
}

func (n *notifier) interval() time.Duration {
	if n.watchdog > 0 {
		return max(min(time.Second, n.watchdog/4), time.Millisecond)
	}
	return time.Second
}
