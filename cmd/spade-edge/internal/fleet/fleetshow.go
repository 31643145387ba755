package fleet

import (
	"crypto/sha256"
	"fmt"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// Shown describes a fleet file, printed as text or, with -json, as JSON.
type Shown struct {
	Run     string        `json:"run"`
	Hash    string        `json:"fleet_hash"`   // of run, start, members, edges, settings and task: certificates name it
	SHA256  string        `json:"fleet_sha256"` // of the file, keys and addresses included
	Members []shownMember `json:"members"`
}

type shownMember struct {
	Name    string   `json:"name"`
	Keys    []string `json:"keys"`              // fingerprints
	Retired []string `json:"retired,omitempty"` // fingerprints of keys that connect no more, but whose signatures count
}

// show prints both hashes of a fleet file, and the fingerprints of its keys. It needs no other file.
func show(c *cli.Cmdline) error {
	path, err := c.ParseFile()
	if err == nil {
		path, err = fleetPath(path, "fleet.json")
	}
	if err != nil {
		return err
	}
	file, text, err := fleetfile.ReadWithoutX0(path)
	if err != nil {
		return cli.AsUsageError(err)
	}
	r := Shown{Run: file.Fleet.Run, Hash: fmt.Sprintf("%x", file.Fleet.Hash()), SHA256: fmt.Sprintf("%x", sha256.Sum256(text))}
	for _, m := range file.Members {
		r.Members = append(r.Members, shownMember{m.Name, cli.Fingerprints(m.Keys), cli.Fingerprints(m.Retired)})
	}
	return c.Print(r, func(t cli.Table) {
		t.Row("run", "%q, %d members", r.Run, len(r.Members))
		t.Row("fleet hash", "%s", r.Hash)
		t.Row("", "(of run, start, members, edges, settings and task, as this command computes it; certificates name it)")
		t.Row("fleet file", "SHA-256 %s", r.SHA256)
		t.Row("", "(as \"sha256sum %s\" computes it; it also covers keys and addresses, which may change during a run)", path)
		for _, m := range r.Members {
			for _, key := range m.Keys {
				t.Row("key", "%s  %q", key, m.Name)
			}
			for _, key := range m.Retired {
				t.Row("retired key", "%s  %q", key, m.Name)
			}
		}
	})
}
