package device

import (
	"cmp"
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
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// controlPath returns the path of the socket. It fails if the path, with the terminating zero, is longer than 108 bytes
// on Linux and Windows, or 104 bytes elsewhere.
func controlPath(state string) (string, error) {
	const longest = 103
	path := filepath.Join(state, "control")
	if len(path) > longest {
		return "", fmt.Errorf("socket path %s has %d bytes, want at most %d", path, len(path), longest)
	}
	return path, nil
}

// openControl listens on the socket in the state folder; only the folder's owner can use this socket. GET /status
// returns the node's status. POST /stop calls
// stop; its response stays open until the process ends. The returned function unlink removes the socket; d.hangUp
// closes the open connections.
//
// The caller holds the lock of the store, so if there is already a socket, it is left over from a crash.
func (d *Device) openControl(stop func()) (unlink func() error, err error) {
	path, err := controlPath(d.File.State)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	if err == nil && (info.Mode().IsRegular() || info.IsDir()) {
		return nil, fmt.Errorf("%s exists and is not a socket", path)
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	var ctx context.Context
	ctx, d.hangUp = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(d.monitor.Status()) // the client may be gone
	})
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, r *http.Request) {
		stop()
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	go monitor.Serve(ctx, l, mux)
	return l.Close, nil
}

// ErrNotRunning is wrapped by errors of [AskStatus] and [AskStop] if no node is running in the state folder.
var ErrNotRunning = errors.New("not running")

// ask sends a request to the node that is using a state folder.
func ask(ctx context.Context, state, method, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://node"+path, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			path, err := controlPath(state)
			if err != nil {
				return nil, fmt.Errorf("%w: cannot determine whether the node is running", err)
			}
			conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
			if err != nil && ctx.Err() == nil && !errors.Is(err, fs.ErrPermission) {
				return nil, fmt.Errorf("%w: %w", ErrNotRunning, err) // no socket, or a socket left over from a crash
			}
			return conn, err
		},
	}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, errors.Unwrap(err) // drops the URL, which means nothing to users
	}
	return resp, nil
}

// askTwice sends a request and decodes its JSON answer, within ten seconds. A node that exits drops requests that it
// has not answered. After a failure, askTwice therefore sends the request once more, to the node's next process. If
// there is none, the error is [ErrNotRunning].
func askTwice(ctx context.Context, state, method, path string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	once := func() error {
		resp, err := ask(ctx, state, method, path)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body := io.LimitReader(resp.Body, 16<<20)
		if resp.StatusCode == http.StatusOK {
			return json.NewDecoder(body).Decode(answer)
		}
		text, err := io.ReadAll(body)
		return cmp.Or(err, errors.New(strings.TrimSpace(string(text))))
	}
	err := once()
	if err != nil && !errors.Is(err, ErrNotRunning) && ctx.Err() == nil {
		err = once()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer in time: its process is suspended, or this device has too much to do: %w", err)
	}
	if err != nil {
		return fmt.Errorf("asking the node: %w", err)
	}
	return nil
}

// AskStatus returns the status of the node that is using a state folder.
func AskStatus(ctx context.Context, state string) (*monitor.Status, error) {
	st := new(monitor.Status)
	if err := askTwice(ctx, state, http.MethodGet, "/status", st); err != nil {
		return nil, err
	}
	return st, nil
}

// AskStop asks the node that is using a state folder to stop, and returns when the node's process has ended.
func AskStop(ctx context.Context, state string) error {
	resp, err := ask(ctx, state, http.MethodPost, "/stop")
	if err != nil {
		if errors.Is(err, ErrNotRunning) || ctx.Err() != nil {
			return err
		}
		return nil // the node ended before it could answer
	}
	_, _ = io.Copy(io.Discard, resp.Body) // returns when the process has ended
	_ = resp.Body.Close()
	return ctx.Err()
}
