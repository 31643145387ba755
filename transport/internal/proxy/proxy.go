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
	// patience is the time limit for connecting to a proxy and receiving its answer.
	patience = 10 * time.Second
	// maxAnswer is the maximum length of the header in a proxy's answer, in bytes.
	maxAnswer = 16 << 10
)

// ErrRefused matches an error from Dial (see [errors.Is]) if the proxy refused to connect. It does not match if the
// proxy tried to connect and failed.
var ErrRefused = errors.New("refused by the proxy")

// refused wraps an error so that it matches ErrRefused. It keeps the error's text.
type refused struct{ error }

func (r refused) Is(target error) bool { return target == ErrRefused }

// Dialer opens connections directly or through a proxy. It is safe for concurrent use.
type Dialer struct {
	// Proxy is the URL of the proxy, which must pass [transport.CheckProxy]. If it is nil, Environment chooses the
	// proxy.
	Proxy *url.URL

	// Environment returns the proxy for a request, like [http.ProxyFromEnvironment].
	Environment func(*http.Request) (*url.URL, error)

	Direct   func(ctx context.Context, network, addr string) (net.Conn, error)
	Patience time.Duration // time limit for a proxy to connect and answer
}

// New returns a dialer that uses the given proxy. If proxy is nil, the environment variables choose the proxy. The
// dialer calls direct to dial the proxy or, without a proxy, the destination. If direct is nil, it uses a net.Dialer.
func New(proxy *url.URL, direct func(ctx context.Context, network, addr string) (net.Conn, error)) *Dialer {
	if direct == nil {
		direct = new(net.Dialer).DialContext
	}
	return &Dialer{Proxy: proxy, Environment: http.ProxyFromEnvironment, Direct: direct, Patience: patience}
}

// choose returns the proxy for addr, which has the form "host:port". A nil result means a direct connection. The
// dialer's own proxy takes precedence over the proxy in HTTPS_PROXY, which is not used if NO_PROXY excludes the host.
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

// Dial connects to addr, which has the form "host:port". Even if Dial fails, via is the URL of the proxy without
// credentials, or "" if there is none. If the proxy caused the error, the error names the proxy. No error contains
// credentials. ctx limits only the time to connect.
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
			return nil, fmt.Errorf("failed the TLS handshake: %w", err)
		}
		conn = secure
	}
	return conn, connect(conn, u.User, addr)
}

// connect sends a CONNECT request to an HTTP proxy and checks the answer. Its error never quotes the answer, which may
// repeat the credentials.
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
		return refused{errors.New("does not answer in HTTP, so it is not an HTTP proxy")}
	}
	why, absent := "", false
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusProxyAuthRequired, http.StatusUnauthorized: // tinyproxy answers 401 instead of 407
		why = "the proxy wants a user and a password, but none are configured"
		if user != nil {
			why = "the proxy rejects the user and the password, or does not support Basic authentication"
		}
	case http.StatusForbidden, http.StatusMethodNotAllowed:
		why = "the proxy does not allow the address; its operator has to allow it"
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		why, absent = "the proxy cannot connect to the address", true
	default:
		why = "want 200"
	}
	err = fmt.Errorf("answers %d to CONNECT %s: %s", resp.StatusCode, addr, why)
	if !absent {
		err = refused{err}
	}
	return err
}

// header reads the header of the proxy's answer, up to and including the empty line. It does not read beyond that,
// because the following bytes come from the destination. If the answer does not begin with "HTTP/", header returns at
// the first wrong byte, because an empty line may never arrive.
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
