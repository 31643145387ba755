package transport

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Printable returns text from another machine in a form that is safe to print on one line. Like a quoted Go string, it
// escapes characters that could control a terminal or start a new line. It replaces invalid UTF-8 with a question mark.
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

// These constants define the limits of [Limited] for lines with the same message about the same peer.
const (
	logBurst = 100              // lines at once
	logEvery = 30 * time.Second // then one line per interval
	logKinds = 1 << 10          // if there are more kinds, lines are counted by message alone, without the peer
)

// Limited returns a logger that passes lines to l and limits their number, so that other members cannot fill the disk
// through the log of a node or its transport. For each message and peer, it passes the first hundred lines and then one
// line every 30 seconds, with the number of dropped lines in the attribute "left_out". Lines at level Debug are not
// limited. If l is nil, the lines go to slog.Default(); with [slog.DiscardHandler], nowhere.
func Limited(l *slog.Logger) *slog.Logger {
	if l == nil {
		l = slog.Default()
	}
	return slog.New(limited{l.Handler(), &lines{kinds: map[string]*allowance{}}})
}

type limited struct {
	slog.Handler
	lines *lines
}

// lines counts log lines by kind: the message and the peer.
type lines struct {
	mu    sync.Mutex
	kinds map[string]*allowance
}

// allowance limits the lines of one kind.
type allowance struct {
	used    int       // lines logged, less one for each logEvery that has passed; at most logBurst
	since   time.Time // when the field used was last lowered
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

// take reports whether a line may be logged. If so, leftOut is the number of lines of the same kind dropped since the
// last logged one.
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
