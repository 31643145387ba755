package verdict

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk/regular"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// The private files of a verdict, in the state folder of the node.
const (
	verdictName = "verdict.json"
	aloneName   = "verdict-alone" // the model of own rows alone, if it is accepted

	mostVerdict = 1 << 20
	mostModel   = 1 << 30
	private     = 0o600
)

func earlierName(i int) string { return fmt.Sprintf("verdict-earlier-%d", i+1) }

func (s *Site) path(name string) string { return filepath.Join(s.Node.State, name) }

// save durably writes a model: the hash of the fleet, the release, the numbers, and the SHA-256 of all that.
func (s *Site) save(name string, e earlier) error {
	hash := s.Fleet.Fleet.Hash()
	b := binary.LittleEndian.AppendUint32(hash[:], uint32(e.release))
	b, _ = binary.Append(b, binary.LittleEndian, e.model) // cannot fail for numbers
	sum := sha256.Sum256(b)
	return state.Replace(s.path(name), append(b, sum[:]...), private)
}

// load reads a model that save wrote for this fleet.
func (s *Site) load(name string) (e earlier, err error) {
	b, err := regular.Read(s.path(name), mostModel)
	if err != nil {
		return e, err
	}
	hash := s.Fleet.Fleet.Hash()
	body := b[:max(0, len(b)-sha256.Size)]
	if sum := sha256.Sum256(body); !bytes.HasPrefix(body, hash[:]) || len(body) < len(hash)+4 || !bytes.Equal(sum[:], b[len(body):]) {
		return e, fmt.Errorf("%s is damaged, or of another run", s.path(name))
	}
	e.release = int(binary.LittleEndian.Uint32(body[len(hash):]))
	e.model = make([]float32, (len(body)-len(hash)-4)/4)
	_, err = binary.Decode(body[len(hash)+4:], binary.LittleEndian, e.model)
	return e, err
}

func (s *Site) keep(v *Verdict) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = state.Replace(s.path(verdictName), append(text, '\n'), private)
	}
	if err != nil {
		return fmt.Errorf("the verdict could not be kept, so run the node again before export: %w", err)
	}
	return nil
}

// Read returns the verdict in the state folder. The error wraps [fs.ErrNotExist] if the folder has no verdict.
func (s *Site) Read() (*Verdict, error) {
	text, err := regular.Read(s.path(verdictName), mostVerdict)
	if err != nil {
		return nil, err
	}
	v := new(Verdict)
	if err := json.Unmarshal(text, v); err != nil {
		return nil, fmt.Errorf("%s: %w", s.path(verdictName), err)
	}
	if hash := s.Fleet.Fleet.Hash(); v.Fleet != fmt.Sprintf("%x", hash) || v.Name != s.Node.Name || (v.Accepted == "") == (v.Losses == nil) ||
		(v.Accepted != "") != (v.Answers != nil) {
		return nil, fmt.Errorf("%s: %w", s.path(verdictName), errOther)
	}
	return v, nil
}

var errOther = errors.New("the verdict belongs to another node or run")
