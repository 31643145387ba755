package scorer_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// debugLog keeps all that is logged.
type debugLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *debugLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *debugLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.ReplaceAll(l.text.String(), `\"`, `"`)
}

func (l *debugLog) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// await waits for a word, and returns everything.
func (l *debugLog) await(t *testing.T, word string) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(l.String(), word) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return l.String()
}
