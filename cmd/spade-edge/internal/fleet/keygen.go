package fleet

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
)

// Keygen is the command that creates a node's key.
func Keygen(_ context.Context, c *cli.Cmdline) error {
	name := c.String("name", "", "name of the node in its fleet, 1 to 64 bytes")
	file := c.String("out", "node.key", "the new key `file`")
	addresses := c.String("address", "", "where neighbors reach the node: host:port or wss://host:port/path, several separated by commas")
	from := c.String("from", "", "print the line for this key `file`, and make no key")
	pairs := c.Int("pairs", 8, "how many one-time keys to make for noise that members share, one for each `run`; with -from, none by default")
	if err := c.ParseArgs(); err != nil {
		return err
	}
	if err := checkName(*name); err != nil {
		return cli.Usage("-name: %w", err)
	}
	if c.Given["from"] && c.Given["out"] {
		return cli.Usage("-from and -out cannot be combined: with -from, keygen creates no key")
	}
	if *from != "" && !c.Given["pairs"] {
		*pairs = 0
	}
	if *pairs < 0 || *pairs > mostPairs {
		return cli.Usage("-pairs is %d, want 0..%d", *pairs, mostPairs)
	}
	where, err := memberAddresses("-address", *addresses)
	if err != nil {
		return cli.AsUsageError(err)
	}
	var public ed25519.PublicKey
	if *from != "" {
		key, err := secret.ReadKey(*from)
		if err != nil {
			return err
		}
		public = key.Public().(ed25519.PublicKey)
	} else {
		if public, err = secret.CreateKey(*file); err != nil {
			return err
		}
		fmt.Fprintf(c.Log, "the secret key is in %s; the line below goes into the fleet file\n", *file)
	}
	fmt.Fprintf(c.Log, "its fingerprint is %s: let whoever collects the lines read theirs to you by phone\n", signed.Fingerprint(public))
	unused, err := pairKeys(filepath.Dir(cmp.Or(*from, *file)), *name, *pairs)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(c.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(fleetfile.Member{Name: *name, Keys: []ed25519.PublicKey{public}, PairKeys: unused, Addresses: where})
}

const (
	mostPairs  = 100 // the most one-time keys that one command makes
	trialPairs = 8   // one-time keys of each node of a trial
)

// pairKeys makes one-time keys in the file for them in a folder, and returns all keys of the member that no run has used.
func pairKeys(dir, member string, n int) ([]pair.Public, error) {
	file := state.PairKeys(filepath.Join(dir, fleetfile.PairKeysName))
	if n > 0 {
		if _, err := file.Add(member, n); err != nil {
			return nil, err
		}
	}
	return file.Unused(member)
}

// takePairKeys gives each member its next unused one-time key for the run of a changed fleet, if members share noise.
// It returns the members that have none left for a later run.
func takePairKeys(f *fleetfile.File) (last []string, err error) {
	var none []string
	f.Fleet.PairKeys = nil
	for i := range f.Members {
		m := &f.Members[i]
		switch {
		case f.Fleet.Privacy.PairSigma == 0:
			m.PairKeys = nil
			continue
		case len(m.PairKeys) == 0:
			none = append(none, m.Name)
			continue
		case len(m.PairKeys) == 1:
			last = append(last, m.Name)
		}
		f.Fleet.PairKeys, m.PairKeys = append(f.Fleet.PairKeys, m.PairKeys[0]), m.PairKeys[1:]
	}
	if none != nil {
		return nil, cli.Usage("%q have no unused one-time key, want one of each member, because members share noise: %w", none, fleetfile.ErrNoPairKey)
	}
	return last, nil
}

// runOut is a note for the members that takePairKeys returns.
func runOut(last []string) string {
	return fmt.Sprintf("%q have no one-time key left for another run: on the device of each, spade-edge keygen -name NAME -from node.key "+
		"-pairs 8 makes more, and fleet add DIR -line FILE adds them", last)
}

// readMembers reads lines printed by keygen. It ignores empty lines and comments (#), and reports all errors at once.
func readMembers(path string) ([]fleetfile.Member, error) {
	text, err := fleetfile.ReadFile(path, privacy.MaxForeign, "the lines of keygen")
	if err != nil {
		return nil, err
	}
	var errs cli.Faults
	var members []fleetfile.Member
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		m, err := fleetfile.ParseMember([]byte(line))
		errs.When(err != nil, "%s:%d: %.60q is not a line that keygen prints: %w", path, i+1, line, err)
		members = append(members, m)
	}
	errs.When(len(members) == 0, "%s lists no members, want the lines that keygen prints", path)
	return members, errors.Join(errs...)
}

// memberAddresses converts each "host:port" in list, the value of a flag, to a complete address that can be dialed.
func memberAddresses(flag, list string) (out []string, err error) {
	var f cli.Faults
	for _, s := range setup.List(list) {
		_, _, err := transport.ParseAddress(s)
		if err == nil && !strings.Contains(s, "://") {
			s = "wss://" + s + "/"
			_, _, err = transport.ParseAddress(s)
		}
		f.When(err != nil, "%s: %w", flag, err)
		out = append(out, s)
	}
	return out, errors.Join(f...)
}
