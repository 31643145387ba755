package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/verdict"
	"github.com/spade-dfl/spade-edge/sdk/regular"
)

// verdictRows prints a verdict, if there is one.
func verdictRows(t cli.Table, v *verdict.Verdict, nonPrivate bool) {
	if v == nil {
		return
	}
	t.Wrap("verdict", "%s", v.Text())
	if !nonPrivate {
		t.Wrap("", "(for this device only: the privacy guarantee does not cover it)")
	}
}

// readVerdict returns the verdict in the state folder of a site, or nil if the folder has no verdict. It reports on log why a
// verdict cannot be read.
func readVerdict(log io.Writer, site *verdict.Site) *verdict.Verdict {
	v, err := site.Read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(log, cli.OneLine("the verdict cannot be read: "+err.Error()))
	}
	return v
}

// warn says on log that the accepted answer is another one than the model with the given hash.
func warn(log io.Writer, v *verdict.Verdict, hash, node string) {
	if v == nil || !v.Other(hash) {
		return
	}
	how := ""
	if v.AcceptedModel != "" {
		how = fmt.Sprintf("; \"spade-edge export %s -accepted -out FILE\" writes the accepted model", node)
	}
	fmt.Fprintln(log, cli.OneLine("another model is accepted here: "+strings.TrimPrefix(v.Text(), "accepted: ")+how))
}

// nodeOf is the name of the file beside an exported model that names the node file on this device. It has no result:
// whoever copies it learns a path.
func nodeOf(model string) string { return model + ".node" }

// siteOf returns the node on this device that exported a model file, and the node's file. It returns nil if the file was
// exported elsewhere.
func siteOf(log io.Writer, model string) (s *verdict.Site, path string) {
	text, err := regular.Read(nodeOf(model), 1<<16)
	if err != nil {
		return nil, ""
	}
	if path = strings.TrimSpace(string(text)); !filepath.IsAbs(path) {
		return nil, ""
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, "" // another device
	}
	if s, err = readSite(path); err != nil {
		fmt.Fprintln(log, cli.OneLine("the verdict cannot be read: "+err.Error()))
		return nil, ""
	}
	return s, path
}
