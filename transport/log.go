package transport

import (
	"fmt"
	"log"
	"slices"
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

// Logger takes the lines that a node and its transport log: a text that does not vary, then names and values in turn, as
// for log/slog, whose *Logger is one. Methods may be called at the same time.
type Logger interface {
	Debug(text string, args ...any)
	Info(text string, args ...any)
	Warn(text string, args ...any)
	Error(text string, args ...any)
}

// standard passes lines above level Debug to the standard library's log package.
type standard struct{}

func (standard) Debug(string, ...any)           {}
func (standard) Info(text string, args ...any)  { printLine("INFO", text, args) }
func (standard) Warn(text string, args ...any)  { printLine("WARN", text, args) }
func (standard) Error(text string, args ...any) { printLine("ERROR", text, args) }

func printLine(level, text string, args []any) {
	line := level + " " + text
	for i := 1; i < len(args); i += 2 {
		line += fmt.Sprintf(" %v=%q", args[i-1], fmt.Sprint(args[i]))
	}
	log.Print(line)
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
// limited. Each line begins with the given args. If l is nil, the lines above level Debug go to the package log.
func Limited(l Logger, args ...any) Logger {
	if l == nil {
		l = standard{}
	}
	return &limited{to: l, args: args, kinds: map[string]*allowance{}}
}

// limited counts log lines by kind: the message and the peer.
type limited struct {
	to    Logger
	args  []any
	mu    sync.Mutex
	kinds map[string]*allowance
}

// allowance limits the lines of one kind.
type allowance struct {
	used    int       // lines logged, less one for each logEvery that has passed; at most logBurst
	since   time.Time // when the field used was last lowered
	leftOut int
}

func (l *limited) Debug(text string, args ...any) {
	l.to.Debug(text, append(slices.Clip(l.args), args...)...)
}
func (l *limited) Info(text string, args ...any)  { l.pass(l.to.Info, text, args) }
func (l *limited) Warn(text string, args ...any)  { l.pass(l.to.Warn, text, args) }
func (l *limited) Error(text string, args ...any) { l.pass(l.to.Error, text, args) }

func (l *limited) pass(log func(text string, args ...any), text string, args []any) {
	leftOut, ok := l.take(text, args)
	if !ok {
		return
	}
	args = append(slices.Clip(l.args), args...)
	if leftOut > 0 {
		args = append(args, "left_out", leftOut)
	}
	log(text, args...)
}

// take reports whether a line may be logged. If so, leftOut is the number of lines of the same kind dropped since the
// last logged one.
func (l *limited) take(text string, args []any) (leftOut int, ok bool) {
	kind, now := text, time.Now()
	for i := 1; i < len(args) && kind == text; i += 2 {
		switch args[i-1] {
		case "peer", "neighbor", "from", "to":
			kind += fmt.Sprintf("\n%v", args[i])
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[kind]
	if k == nil && len(l.kinds) >= logKinds {
		kind = text
		k = l.kinds[kind]
	}
	if k == nil {
		k = &allowance{since: now}
		l.kinds[kind] = k
	}
	if n := int(now.Sub(k.since) / logEvery); n > 0 {
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
