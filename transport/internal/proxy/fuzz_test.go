package proxy

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"
)

type answering struct {
	net.Conn
	answer bytes.Reader
}

func (a *answering) Read(b []byte) (int, error)       { return a.answer.Read(b) }
func (a *answering) Write(b []byte) (int, error)      { return len(b), nil }
func (a *answering) SetDeadline(time.Time) error      { return nil }
func (a *answering) SetReadDeadline(time.Time) error  { return nil }
func (a *answering) SetWriteDeadline(time.Time) error { return nil }

// FuzzAnswer checks that, for any answer of a proxy, Dial returns either a short one-line error without the password,
// or a tunnel. The tunnel must begin with the first byte after the header of an answer with status 200.
func FuzzAnswer(f *testing.F) {
	for _, answer := range []string{"HTTP/1.1 200 OK\r\n\r\nINFO", "HTTP/1.0 200\n\nx", "HTTP/1.1 407 secret\r\nProxy-Authenticate: Basic\r\n\r\n",
		"HTTP/1.1 503 No\r\nContent-Length: 99999999999999999999\r\n\r\n", "SSH-2.0\r\n", "HTTP/", "", "HTTP/1.1 200 OK\r\na: \x1b[31m\r\n\r\n"} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		conn := new(answering)
		conn.answer.Reset(answer)
		err := connect(conn, url.UserPassword("user", "hushhush"), "b.example:7443")
		if err != nil {
			text := err.Error()
			if len(text) > 300 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) || strings.Contains(text, "hushhush") {
				t.Errorf("error %q", text)
			}
			return
		}
		rest, err := io.ReadAll(conn)
		if err != nil {
			t.Fatal(err)
		}
		head := answer[:len(answer)-len(rest)]
		fields := strings.Fields(string(head))
		if !bytes.HasPrefix(head, []byte("HTTP/")) || len(fields) < 2 || fields[1] != "200" || len(head) > maxAnswer ||
			!bytes.HasSuffix(head, []byte("\n\r\n")) && !bytes.HasSuffix(head, []byte("\n\n")) {
			t.Errorf("a tunnel behind %q", head)
		}
	})
}
