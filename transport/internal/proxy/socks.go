package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
)

// socksErrors are the replies of RFC 1928, section 6.
var socksErrors = [...]string{1: "general failure", "not allowed by its rules", "network unreachable",
	"host unreachable", "connection refused", "time to live expired", "command not supported", "address not supported"}

// socks asks a SOCKS5 proxy. The host goes as a name or a literal, and the proxy looks it up.
func socks(conn net.Conn, user *url.Userinfo, addr string) error {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil || len(host) > 255 {
		return fmt.Errorf("cannot be asked for %q: want a host of at most 255 bytes and a port", addr)
	}
	const open, byPassword = 0, 2
	method := byte(open)
	if user != nil {
		method = byPassword
	}
	var b [262]byte
	if err := say(conn, []byte{5, 1, method}, b[:2]); err != nil {
		return err
	}
	switch {
	case b[0] != 5:
		return fmt.Errorf("is no SOCKS5 proxy: it answers %q", b[:2])
	case b[1] != method && user == nil:
		return refused{errors.New("wants a user and a password, and there are none")}
	case b[1] != method:
		return errors.New("does not take a user and a password")
	}
	if user != nil { // RFC 1929
		name := user.Username()
		password, _ := user.Password()
		if len(name) > 255 || len(password) > 255 {
			return errors.New("takes at most 255 bytes of user and of password")
		}
		request := append([]byte{1, byte(len(name))}, name...)
		request = append(append(request, byte(len(password))), password...)
		if err := say(conn, request, b[:2]); err != nil {
			return err
		}
		if b[1] != 0 {
			return refused{errors.New("does not accept the user and the password")}
		}
	}
	request := []byte{5, 1, 0}
	switch ip := net.ParseIP(host); {
	case ip.To4() != nil:
		request = append(append(request, 1), ip.To4()...)
	case ip != nil:
		request = append(append(request, 4), ip...)
	default:
		request = append(append(request, 3, byte(len(host))), host...)
	}
	if err := say(conn, append(request, byte(port>>8), byte(port)), b[:5]); err != nil {
		return err
	}
	if b[1] != 0 {
		why := "reply " + strconv.Itoa(int(b[1]))
		if int(b[1]) < len(socksErrors) {
			why = socksErrors[b[1]]
		}
		return fmt.Errorf("does not connect to %s: %s", addr, why)
	}
	rest := map[byte]int{1: 4, 4: 16, 3: int(b[4]) + 1}[b[3]] + 2 - 1 // the address it dials from, of no use
	_, err = io.ReadFull(conn, b[:rest])
	return err
}

// say sends a request and reads an answer of a known length.
func say(conn net.Conn, request, answer []byte) error {
	if _, err := conn.Write(request); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, answer)
	return err
}
