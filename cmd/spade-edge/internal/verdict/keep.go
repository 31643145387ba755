package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk/regular"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// The private files of a verdict, in the state folder of the node.
const (
	verdictName  = "verdict.json"
	acceptedName = "verdict-accepted.json" // the accepted model, if it is not the last shared one

	recalibrationName = "recalibration.json" // of the site's answers, see [Site.Recalibrate]

	mostFile = 1 << 31 // bytes
	private  = 0o600
)

func earlierName(i int) string { return fmt.Sprintf("verdict-earlier-%d.json", i+1) }

func (s *Site) path(name string) string { return filepath.Join(s.Node.State, name) }

// fleet returns the hash of the fleet in hexadecimal digits.
func (s *Site) fleet() string { return fmt.Sprintf("%x", s.Fleet.Fleet.Hash()) }

// keep durably writes v as JSON.
func (s *Site) keep(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return state.Replace(s.path(name), append(text, '\n'), private)
}

// read reads a file that keep wrote.
func (s *Site) read(name string, v any) error {
	text, err := regular.Read(s.path(name), mostFile)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.path(name), err)
	}
	return nil
}

// stored is a model in a file.
type stored struct {
	Fleet string
	earlier
}

func (s *Site) save(name string, e earlier) error {
	return s.keep(name, stored{s.fleet(), e})
}

// load reads a model that save wrote for this fleet.
func (s *Site) load(name string) (earlier, error) {
	var from stored
	err := s.read(name, &from)
	if err == nil && from.Fleet != s.fleet() {
		err = fmt.Errorf("%s: %w", s.path(name), errOther)
	}
	return from.earlier, err
}

// Read returns the verdict in the state folder. The error wraps [fs.ErrNotExist] if the folder has no verdict.
func (s *Site) Read() (*Verdict, error) {
	v := new(Verdict)
	if err := s.read(verdictName, v); err != nil {
		return nil, err
	}
	if v.Fleet != s.fleet() || v.Name != s.Node.Name || (v.Losses == nil) == (v.Answers == nil) || (v.Accepted == "") != (v.Answers == nil) {
		return nil, fmt.Errorf("%s: %w", s.path(verdictName), errOther)
	}
	return v, nil
}

var errOther = errors.New("it belongs to another node or run")
