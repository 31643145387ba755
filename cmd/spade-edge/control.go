package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// control is the socket in a node's state folder by which "status" and "stop" reach it. Who may use it is a matter of the file
// system: the folder and the socket are the owner's alone. It answers GET /status with the node's status and POST /stop with a
// response that ends when the process does.
type control struct {
	listener net.Listener
	cancel   context.CancelFunc // ends every connection
}

// controlPath returns where a node listens.
func controlPath(state string) string { return filepath.Join(state, "control") }

// maxSocketPath is the longest path that can be listened on: 108 bytes with the zero behind it on Linux and Windows, 104 elsewhere.
const maxSocketPath = 103

// openControl listens in a node's state folder. The caller holds the lock of the store there: a socket that is there already was
// left by a crash. A nil control, as on an error, can be closed like any other.
func openControl(state string, mon *monitor.Monitor, stop func()) (*control, error) {
	path := controlPath(state)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of a socket can have %d bytes, and %s has %d", maxSocketPath, path, len(path))
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().IsRegular() || info.IsDir():
		return nil, fmt.Errorf("%s is there, and is no socket", path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	go monitor.Serve(ctx, l, controls(mon, stop))
	return &control{listener: l, cancel: cancel}, nil
}

// controls answers whoever has a right to the socket. Its requests end when the node is gone.
func controls(mon *monitor.Monitor, stop func()) http.Handler {
	// A http.ServeMux would add 30 KB to the program.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "GET /status":
			w.Header().Set("Content-Type", "application/json")
			_ = writeObject(w, mon.Status()) // whoever has gone needs no answer
		case "POST /stop":
			stop()
			_ = http.NewResponseController(w).Flush() // who has gone meant it all the same
			<-r.Context().Done()
		default:
			http.Error(w, "there are GET /status and POST /stop", http.StatusNotFound)
		}
	})
}

// unlink takes the socket away: nobody new can connect. Open connections stay.
func (c *control) unlink() {
	if c != nil {
		_ = c.listener.Close()
	}
}

// close ends what is left: the node is gone.
func (c *control) close() {
	if c != nil {
		c.cancel()
	}
}

// errNotRunning says that no node answers where it would listen.
var errNotRunning = errors.New("not running")

// caller returns a client that reaches the node behind a state folder, whatever the host of the address.
func caller(state string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			path := controlPath(state)
			if len(path) > maxSocketPath {
				return nil, fmt.Errorf("the path of a control socket can have %d bytes, and %s has %d: whether the node runs cannot be told", maxSocketPath, path, len(path))
			}
			conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
			if err != nil && ctx.Err() == nil && !errors.Is(err, fs.ErrPermission) {
				return nil, fmt.Errorf("%w: %w", errNotRunning, err) // no socket, or one that a crash has left
			}
			return conn, err
		},
	}}
}

// askStatus asks a running node how it stands. The error is errNotRunning if none answers.
func askStatus(ctx context.Context, state string) (*monitor.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://node/status", nil)
	if err != nil {
		return nil, err
	}
	resp, err := caller(state).Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking the node: %w", errors.Unwrap(err)) // without the address, which is no real one
	}
	defer resp.Body.Close()
	var st monitor.Status
	if err := json.NewDecoder(io.LimitReader(resp.Body, 16<<20)).Decode(&st); err != nil {
		return nil, fmt.Errorf("asking the node: %w", err)
	}
	return &st, nil
}

// askStop asks a running node to end, and returns when its process is gone. The error is errNotRunning if none answers.
func askStop(ctx context.Context, state string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://node/stop", nil)
	if err != nil {
		return err
	}
	resp, err := caller(state).Do(req)
	if err != nil {
		if errors.Is(err, errNotRunning) || ctx.Err() != nil {
			return errors.Unwrap(err)
		}
		return nil // it was gone before it could answer
	}
	_, _ = io.Copy(io.Discard, resp.Body) // ends with the process, one way or the other
	_ = resp.Body.Close()
	return ctx.Err()
}
