package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/transport"
)

var keygenCommand = &command{
	name:  "keygen",
	short: "the key of a node",
	run:   keygen,
}

func keygen(_ context.Context, cmd *command, args []string, out, log io.Writer) error {
	fs := cmd.flags()
	name := fs.String("name", "", "what the node is called in its fleet, 1 to 64 bytes")
	file := fs.String("out", "node.key", "the new key `file`")
	addresses := fs.String("address", "", "where neighbors reach the node: host:port or wss://host:port/path, several separated by commas")
	from := fs.String("from", "", "print the line of this key `file` and make none")
	fs.Bool("json", true, "print one JSON object to standard output, as in any case")
	if err := cmd.parse(fs, args, out); err != nil {
		return err
	}
	if len(*name) < 1 || len(*name) > 64 || !utf8.ValidString(*name) {
		return usageError{fmt.Errorf("-name %q has %d bytes, want 1..64 of UTF-8", *name, len(*name))}
	}
	if given := given(fs); given["from"] && given["out"] {
		return usageError{errors.New("-from and -out exclude each other: no key is made from another")}
	}
	where, err := memberAddresses("-address", list(*addresses))
	if err != nil {
		return usageError{err}
	}
	var public ed25519.PublicKey
	if *from != "" {
		key, err := fleetfile.ReadKey(*from)
		if err != nil {
			return err
		}
		public = key.Public().(ed25519.PublicKey)
	} else {
		if public, err = fleetfile.CreateKey(*file); err != nil {
			return err
		}
		fmt.Fprintf(log, "the secret key is in %s; the line below goes into the fleet file\n", *file)
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(memberLine{*name, []string{transport.FormatKey(public)}, where}); err != nil {
		return err
	}
	_, err = out.Write(line.Bytes())
	return err
}
