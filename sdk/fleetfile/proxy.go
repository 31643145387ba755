package fleetfile

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spade-dfl/spade-edge/transport"
)

// parseProxy reads a URL without credentials. The error leaves the URL out, which may contain a password.
func parseProxy(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL, want http://host:port")
	case u.User != nil:
		return nil, errors.New("has a user in it, want that in the file that proxy_credentials names")
	}
	if err := transport.CheckProxy(u); err != nil {
		return nil, fmt.Errorf("is not the URL of a proxy: %w", err)
	}
	return u, nil
}

// OpenProxy returns the URL of the node's proxy with its credentials, which must not be printed; nil without a proxy. The
// file of credentials is read as [ReadSecret] does.
func (n *Node) OpenProxy() (*url.URL, error) {
	if n.Proxy == "" {
		return nil, nil
	}
	u, err := parseProxy(n.Proxy)
	if err != nil {
		return nil, fmt.Errorf("fleetfile: proxy %w", err)
	}
	if n.ProxyCredentials == "" {
		return u, nil
	}
	text, err := ReadSecret(n.ProxyCredentials, "credentials of a proxy")
	if err != nil {
		return nil, err
	}
	user, password, found := strings.Cut(text, ":")
	if !found || user == "" || strings.ContainsFunc(user+password, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, fmt.Errorf("fleetfile: credentials of a proxy %s: want one line user:password", n.ProxyCredentials)
	}
	u.User = url.UserPassword(user, password)
	return u, nil
}
