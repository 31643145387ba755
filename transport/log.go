package transport

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Printable returns text of another machine as it may stand in a line for people: whatever could steer a terminal or
// begin another line is escaped as in Go's strings, and what is not UTF-8 becomes a question mark.
func Printable(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "?") {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// Limits of [Limited], for lines that say the same of the same peer.
const (
	logBurst = 100              // lines at once
	logEvery = 30 * time.Second // after them, one line in this time
	logKinds = 1 << 10          // beyond that many kinds of lines the peer is not looked at
)

// Limited returns a handler for what a node and its transport log, so that other members cannot fill a disk. Lines with
// the same message about the same peer are passed on to h, which must not be nil, a hundred at once and then one every 30
// seconds, with the number of those left out in between as "left_out". Lines of level Debug are all passed on.
func Limited(h slog.Handler) slog.Handler { return limited{h, &lines{kinds: map[string]*allowance{}}} }

type limited struct {
	slog.Handler
	lines *lines
}

// lines are the kinds of lines that have been logged.
type lines struct {
	mu    sync.Mutex
	kinds map[string]*allowance
}

// allowance is what may still be logged of a kind.
type allowance struct {
	used    int       // of logBurst
	since   time.Time // when used was last lowered
	leftOut int
}

func (l limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return limited{l.Handler.WithAttrs(attrs), l.lines}
}

func (l limited) WithGroup(name string) slog.Handler {
	return limited{l.Handler.WithGroup(name), l.lines}
}

func (l limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level > slog.LevelDebug {
		leftOut, ok := l.lines.take(&r)
		if !ok {
			return nil
		}
		if leftOut > 0 {
			r.AddAttrs(slog.Int("left_out", leftOut))
		}
	}
	return l.Handler.Handle(ctx, r)
}

// take reports whether a line may be logged, and how many of its kind have been left out before it.
func (l *lines) take(r *slog.Record) (leftOut int, ok bool) {
	kind := r.Message
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "peer", "neighbor", "from", "to":
			kind += "\n" + a.Value.String()
			return false
		}
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[kind]
	if k == nil && len(l.kinds) >= logKinds {
		kind = r.Message
		k = l.kinds[kind]
	}
	if k == nil {
		k = &allowance{since: r.Time}
		l.kinds[kind] = k
	}
	if n := int(r.Time.Sub(k.since) / logEvery); n > 0 {
		k.used, k.since = max(0, k.used-n), k.since.Add(time.Duration(n)*logEvery)
	}
	if k.used >= logBurst {
		k.leftOut++
		return 0, false
	}
	k.used++
	leftOut, k.leftOut = k.leftOut, 0
	return leftOut, true
}
