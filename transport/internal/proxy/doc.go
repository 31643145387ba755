// Package proxy dials through a proxy with HTTP CONNECT (RFC 9110, section 9.3.6). The caller protects the connection
// from the proxy with TLS. The proxy resolves host names, because this host may be unable to.
package proxy
