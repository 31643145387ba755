package monitor

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
)

//go:embed page.html
var pageFrame []byte

//go:embed page.css
var pageStyle []byte

//go:embed page.js
var pageScript []byte

// page is one HTML file with everything in it; it is the same for every run, since all that is shown is fetched by its script. Its
// policy lets a browser run this script and use this style, named by their hashes, ask this origin, and nothing else.
var page, pagePolicy = assemble()

func assemble() ([]byte, string) {
	out := bytes.Replace(pageFrame, []byte("/*style*/"), pageStyle, 1)
	out = bytes.Replace(out, []byte("/*script*/"), pageScript, 1)
	source := func(text []byte) string {
		sum := sha256.Sum256(text)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return out, "default-src 'none'; script-src " + source(pageScript) + "; style-src " + source(pageStyle) +
		"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
