package main

import (
	"errors"
	"fmt"
	"strings"

	client "github.com/nats-io/nats.go"

	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/secret"
)

// credentials returns the client options that authenticate this node to a broker. It reads all credential files
// immediately in order to report errors. The client reads them again for each connection, so the files can be replaced
// while the node is running.
func credentials(n *broker.NATS) (options []client.Option, err error) {
	var errs []error
	add := func(field, path, kind string, option func() (client.Option, error)) {
		if path == "" {
			return
		}
		_, err := secret.Read(path, kind)
		if err == nil {
			var o client.Option
			o, err = option()
			options = append(options, o)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("transport.%s: %w", field, err))
		}
	}
	add("credentials", n.Credentials, "credentials of a broker", func() (client.Option, error) {
		return client.UserCredentials(n.Credentials), nil
	})
	add("nkey_file", n.NKey, "nkey of a broker", func() (client.Option, error) {
		return client.NkeyOptionFromSeed(n.NKey)
	})
	add("user_file", n.User, "broker user file", func() (client.Option, error) {
		_, _, err := fleetfile.ReadUser(n.User, "broker user file")
		return client.UserInfoHandler(func() (string, string) {
			user, password, _ := fleetfile.ReadUser(n.User, "broker user file") // on an error both are empty: the broker refuses the connection
			return user, password
		}), err
	})
	add("token_file", n.Token, "broker token file", func() (client.Option, error) {
		_, err := readToken(n.Token)
		return client.TokenHandler(func() string {
			token, _ := readToken(n.Token) // on an error the token is empty, and the broker refuses the connection
			return token
		}), err
	})
	if n.CertificateKey != "" {
		options = append(options, client.ClientCert(n.Certificate, n.CertificateKey))
	}
	if n.CA != "" {
		options = append(options, client.RootCAs(n.CA))
	}
	_, err = n.TLS.Config()
	return options, errors.Join(append(errs, err)...)
}

func readToken(path string) (string, error) {
	token, err := secret.Read(path, "broker token file")
	if err == nil && (token == "" || strings.ContainsAny(token, "\r\n")) {
		err = fmt.Errorf("broker token file %s: want exactly one line of text", path)
	}
	return token, err
}
