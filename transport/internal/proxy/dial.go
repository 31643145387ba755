package proxy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
)

const (
	// patience is how long a proxy may take to connect and answer.
	patience = 10 * time.Second
	// maxAnswer is the maximum length, in bytes, of the header of a proxy's answer.
	maxAnswer = 16 << 10
)

// ErrRefused is in the chain of an error if the proxy answered and refused to connect. It is not in the chain if the
// proxy tried to connect and failed.
var ErrRefused = errors.New("refused by the proxy")

// refused wraps an error, whatever its text, so that the error matches ErrRefused.
type refused struct{ error }

func (r refused) Is(target error) bool { return target == ErrRefused }

// Dialer makes connections, directly or through a proxy. It is safe for concurrent use.
type Dialer struct {
	// Proxy is the URL of the proxy, valid for [transport.CheckProxy]. If it is nil, Environment decides.
	Proxy *url.URL

	// Environment returns the proxy for a request, as [http.ProxyFromEnvironment] does.
	Environment func(*http.Request) (*url.URL, error)

	Direct   func(ctx context.Context, network, addr string) (net.Conn, error)
	Patience time.Duration // time limit for a proxy to connect and answer
}

// New returns a dialer for a proxy. If proxy is nil, the environment decides. direct connects to the proxy, or to the
// destination if there is no proxy; nil means a net.Dialer.
func New(proxy *url.URL, direct func(ctx context.Context, network, addr string) (net.Conn, error)) *Dialer {
	if direct == nil {
		direct = new(net.Dialer).DialContext
	}
	return &Dialer{Proxy: proxy, Environment: http.ProxyFromEnvironment, Direct: direct, Patience: patience}
}

// choose returns the proxy for addr, "host:port", or nil for none. It is the dialer's own proxy or, if that is nil, the
// proxy in HTTPS_PROXY unless NO_PROXY excludes the host.
func (d *Dialer) choose(addr string) (*url.URL, error) {
	if d.Proxy != nil {
		return d.Proxy, nil
	}
	u, err := d.Environment(&http.Request{URL: &url.URL{Scheme: "https", Host: addr}})
	switch {
	case err != nil: // not returned, because the error may quote a password
		return nil, errors.New("HTTPS_PROXY is not a URL, want http://host:port")
	case u == nil:
		return nil, nil
	}
	if err := transport.CheckProxy(u); err != nil {
		return nil, fmt.Errorf("HTTPS_PROXY: %w", err)
	}
	return u, nil
}

// Dial connects to addr, "host:port". via is the URL of the proxy without credentials, even if there is an error, or ""
// without a proxy. If the proxy caused the error, the error names it. No error contains credentials. ctx bounds only
// the time to connect.
func (d *Dialer) Dial(ctx context.Context, network, addr string) (conn net.Conn, via string, err error) {
	u, err := d.choose(addr)
	if err != nil {
		return nil, "", err
	}
	if u == nil {
		conn, err = d.Direct(ctx, network, addr)
		return conn, "", err
	}
	via = u.Scheme + "://" + u.Host
	if conn, err = d.through(ctx, u, network, addr); err != nil {
		err = fmt.Errorf("proxy %s %w", via, err)
	}
	return conn, via, err
}

func (d *Dialer) through(ctx context.Context, u *url.URL, network, addr string) (net.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, d.Patience)
	defer cancel()
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	conn, err := d.Direct(limited, network, net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("cannot be reached: %w", err)
	}
	stop := context.AfterFunc(limited, func() { conn.SetDeadline(time.Unix(1, 0)) })
	tunnel, err := ask(limited, conn, u, addr)
	if stop() && err == nil {
		return tunnel, nil
	}
	conn.Close()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("did not answer: %w", ctx.Err())
	case limited.Err() != nil:
		return nil, fmt.Errorf("did not answer within %v", d.Patience)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("closed the connection without an answer")
	}
	return nil, err
}

func ask(ctx context.Context, conn net.Conn, u *url.URL, addr string) (net.Conn, error) {
	if u.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: u.Hostname()})
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("cannot be trusted: %w", err)
		}
		conn = secure
	}
	return conn, connect(conn, u.User, addr)
}

// connect sends CONNECT to an HTTP proxy. Its error never quotes the proxy's answer, which may repeat the credentials.
func connect(conn net.Conn, user *url.Userinfo, addr string) error {
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{}}
	if user != nil {
		password, _ := user.Password()
		token := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		r.Header.Set("Proxy-Authorization", "Basic "+token)
	}
	if err := r.Write(conn); err != nil {
		return err
	}
	head, err := header(conn)
	if err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), r)
	if err != nil {
		return refused{errors.New("is not an HTTP proxy: its answer is not HTTP")}
	}
	why, absent := "", false
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusProxyAuthRequired, http.StatusUnauthorized: // tinyproxy answers 401 instead of 407
		why = "it wants a user and a password, but none are configured"
		if user != nil {
			why = "it rejects the user and the password, or does not support Basic authentication"
		}
	case http.StatusForbidden, http.StatusMethodNotAllowed:
		why = "the proxy does not allow the address; its operator has to allow it"
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		why, absent = "it cannot connect", true
	default:
		why = "want 200"
	}
	err = fmt.Errorf("answers %d to CONNECT %s: %s", resp.StatusCode, addr, why)
	if !absent {
		err = refused{err}
	}
	return err
}

// header reads the header of the proxy's answer up to the empty line. It reads no further, because what follows comes
// from the other end. If an answer does not begin with "HTTP/", header returns at the first byte that differs, because
// an empty line may never arrive.
func header(conn net.Conn) ([]byte, error) {
	const begin = "HTTP/"
	var head []byte
	for b := make([]byte, 1); len(head) < maxAnswer; {
		if _, err := conn.Read(b); err != nil {
			return nil, err
		}
		head = append(head, b[0])
		if n := min(len(head), len(begin)); string(head[:n]) != begin[:n] {
			return head, nil
		}
		if bytes.HasSuffix(head, []byte("\n\r\n")) || bytes.HasSuffix(head, []byte("\n\n")) {
			return head, nil
		}
	}
	return nil, fmt.Errorf("answers with a header of more than %d bytes", maxAnswer)
}
