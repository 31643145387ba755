package ws

import (
	"fmt"
	"sync"
	"time"
)

// What a peer may say beside its frames. Its own keepalives are two bytes a second.
const (
	uselessRate  = 1000      // bytes a second
	uselessLimit = 256 << 10 // bytes at once; more than is on its way before it can be counted as part of a frame
	perFrame     = 256       // with each frame: its headers, and a message of credit
	perGreeting  = 4 << 10   // with each connection: its request, and what TLS says
)

var errUseless = refusal{fmt.Errorf("more than %d bytes that are in no frame", uselessLimit)}

// meter counts what a peer sends on all of its connections beside frames: the websocket library answers pings and goes
// over empty fragments as fast as they come, and TLS over empty records and new keys.
type meter struct {
	mu   sync.Mutex
	free time.Duration // since began: when all that was counted is forgotten
}

var began = time.Now()

// count adds bytes, or takes them back as part of a frame. The error says that there are too many. Nil counts nothing.
func (m *meter) count(bytes int) error {
	if m == nil {
		return nil
	}
	now := time.Since(began)
	m.mu.Lock()
	m.free = max(m.free, now) + time.Duration(bytes)*(time.Second/uselessRate)
	late := m.free - now
	m.mu.Unlock()
	if late > uselessLimit*(time.Second/uselessRate) {
		return errUseless
	}
	return nil
}
