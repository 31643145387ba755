package device

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/transport"
)

// TestLinks checks what a status says of a neighbor behind a broker: it is connected only if the broker works and the
// neighbor was heard recently, and errors name the broker. Without a broker, silence changes nothing.
func TestLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		time.Sleep(10 * time.Minute)
		ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
		refused := errors.New("dial tcp 127.0.0.1:1883: connect: connection refused")
		const down = "nothing listens at 127.0.0.1:1883 (connection refused): the broker is not running, or its address is wrong"
		up := transport.PeerStatus{Broker: true, Connected: true, Since: began}
		for name, c := range map[string]struct {
			peer  transport.PeerStatus
			heard time.Duration // before now; 0 for never
			limit time.Duration
			want  monitor.Link
		}{
			"heard":          {up, 20 * time.Second, 0, monitor.Link{Broker: true, Connected: true, Heard: 20, Seconds: 600}},
			"silent":         {up, 4 * time.Minute, 0, monitor.Link{Broker: true, Silent: true, Heard: 240, Seconds: 240}},
			"sleeps":         {up, 4 * time.Minute, time.Hour, monitor.Link{Broker: true, Connected: true, Heard: 240, Seconds: 600}},
			"never heard":    {up, 0, 0, monitor.Link{Broker: true, Silent: true, Seconds: 600}},
			"not yet heard":  {up, 0, time.Hour, monitor.Link{Broker: true, Connected: true, Seconds: 600}},
			"without broker": {transport.PeerStatus{Connected: true, Since: began}, 0, 0, monitor.Link{Connected: true, Seconds: 600}},
			"broker down": {transport.PeerStatus{Broker: true, Since: ago(time.Minute), Err: refused, Lost: 1, LostBy: errors.New("EOF")},
				4 * time.Minute, 0, monitor.Link{Broker: true, Heard: 240, Seconds: 60, Fault: down, Lost: 1, LostBy: "the connection to the broker broke"}},
		} {
			if c.heard > 0 {
				c.peer.Heard = ago(c.heard)
			}
			if got := Links([]transport.PeerStatus{c.peer}, began, c.limit)[0]; got != c.want {
				t.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
		}
	})
}

// TestDiskFull checks the error for a disk with less space than a node needs, and that the free space is also known for a
// folder that does not exist yet.
func TestDiskFull(t *testing.T) {
	err := DiskFull("state", 100, 99)
	if DiskFull("state", 100, 100) != nil || err == nil || err.Error() != "the disk of state is full: 99 bytes are free, and the run needs up to 100; "+
		"free some space and run again" {
		t.Error(err)
	}
	free, known := Free(t.TempDir())
	if later, same := Free(filepath.Join(t.TempDir(), "a", "b")); same != known || known && (free <= 0 || later <= 0) {
		t.Errorf("%d bytes free (%v), %d in a new folder (%v)", free, known, later, same)
	}
}
