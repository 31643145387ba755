// Package proxy dials through a proxy by HTTP CONNECT (RFC 9110, section 9.3.6). The connection leads to the other end
// itself, so that TLS and pins hold between the two ends. The proxy resolves names, since this host may be unable to.
package proxy
