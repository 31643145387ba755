package sealed

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
)

// Explain adds the likely cause to err, an error from an attempt to reach a broker. If via is not empty, the new error
// also names via, the proxy. late reports whether the broker failed to answer in time, which err may not show.
func Explain(err error, via string, late bool) error {
	if strings.HasPrefix(err.Error(), "proxy ") {
		return err // the proxy caused the error, which already names it
	}
	hint := ""
	var untrusted *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	var slow net.Error
	switch {
	case errors.As(err, &untrusted) && via != "":
		hint = "; the proxy " + via + " may terminate TLS, but must pass it through"
		via = ""
	case errors.As(err, &noTLS):
		hint = ": the other end does not speak TLS"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET):
		hint = ": the connection ended before the broker admitted this node"
	case late || errors.As(err, &slow) && slow.Timeout():
		hint = ": the broker did not answer"
	}
	if via != "" {
		hint += ", behind the proxy " + via
	}
	return fmt.Errorf("%w%s", err, hint)
}
