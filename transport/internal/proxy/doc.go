// Package proxy dials through a proxy that passes bytes on: HTTP CONNECT (RFC 9110, section 9.3.6).
// What it returns leads to the other end itself, so that TLS and pins stay between the two ends. The proxy looks names
// up, not this host, which may not be able to.
package proxy
