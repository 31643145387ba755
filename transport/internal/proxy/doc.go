// Package proxy dials through an HTTP proxy with CONNECT (RFC 9110, section 9.3.6). The caller must use TLS to protect
// the connection from the proxy. The proxy resolves host names, because this host may be unable to resolve them.
package proxy
