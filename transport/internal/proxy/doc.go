// Package proxy dials through a proxy with HTTP CONNECT (RFC 9110, section 9.3.6). TLS and pins protect the connection
// end to end. The proxy resolves host names, since this host may be unable to.
package proxy
