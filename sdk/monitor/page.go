package monitor

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"io"
	"strings"
	"sync"
)

// pageZip is page.html with page.css and page.js in it, compressed: "go test ./sdk/monitor -run Page -update" makes it,
// and the same test without -update fails when it is out of date.
//
//go:embed page.gz
var pageZip string

// page returns one HTML file with everything in it, which must not be changed, and its policy. It is the same for every
// run, since its script fetches all that is shown. The policy lets a browser run this script and use this style, named
// by their hashes, ask this origin, and nothing else.
var page = sync.OnceValues(func() (text []byte, policy string) {
	zip, err := gzip.NewReader(strings.NewReader(pageZip))
	if err != nil {
		return nil, "" // the test has read it
	}
	text, _ = io.ReadAll(zip)
	source := func(tag string) string {
		_, rest, _ := bytes.Cut(text, []byte("<"+tag+">"))
		inner, _, _ := bytes.Cut(rest, []byte("</"+tag+">"))
		sum := sha256.Sum256(inner)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return text, "default-src 'none'; script-src " + source("script") + "; style-src " + source("style") +
		"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
})
