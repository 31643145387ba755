package device

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// TestAskTwice covers a node that exits and thereby drops a connection, either before it reads the request or in the
// middle of its answer. The caller must get the answer of the next process, or an error if there is no next process.
func TestAskTwice(t *testing.T) {
	state := t.TempDir()
	if len(state) > 80 {
		var err error
		if state, err = os.MkdirTemp("/tmp", "ask"); err != nil {
			t.Skip(err)
		}
		defer os.RemoveAll(state)
	}
	path := filepath.Join(state, "control")
	ending := func(half string) net.Listener {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if half != "" {
				_, _ = http.ReadRequest(bufio.NewReader(c))
				_, _ = c.Write([]byte(half))
			}
			_ = l.Close() // unlinks the socket
			_ = c.Close()
		}()
		return l
	}
	for _, half := range []string{"", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"round\":"} {
		defer ending(half).Close()
		if st, err := AskStatus(t.Context(), state); !errors.Is(err, ErrNotRunning) || st != nil {
			t.Errorf("after %q: %+v, %v", half, st, err)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var asked atomic.Int32
	go monitor.Serve(t.Context(), l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			panic("the connection is lost")
		}
		_, _ = w.Write([]byte(`{"round": 12}`))
	}))
	if st, err := AskStatus(t.Context(), state); err != nil || st.Round != 12 || asked.Load() != 2 {
		t.Errorf("asked %d times: %+v, %v", asked.Load(), st, err)
	}
}
