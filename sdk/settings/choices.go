package settings

import "github.com/spade-dfl/spade-edge/zoest/setting"

// Consensus selects how the members' models converge in rounds without data.
type Consensus int

const (
	ADMM      Consensus = iota // steps of the method itself, without an update from data
	Chebyshev                  // graph.Chebyshev: far fewer rounds
)

var consensuses = setting.Choice{Of: "sdk: consensus", Names: []string{"admm", "chebyshev"}}

// String returns the name used in files: admm or chebyshev.
func (c Consensus) String() string { return consensuses.Name(int(c)) }

// MarshalText returns the name, or an error if c is unknown.
func (c Consensus) MarshalText() ([]byte, error) { return consensuses.Text(int(c)) }

// UnmarshalText parses a name.
func (c *Consensus) UnmarshalText(name []byte) error { return consensuses.Parse((*int)(c), name) }

// Payload selects what members transmit. The models are the same, bit for bit, with every payload.
type Payload int

const (
	Auto    Payload = iota // Release if the run is private or uses Chebyshev, else Message
	Message                // m_ij of eq. (message), one for each neighbor
	Release                // the released state itself, the same for all neighbors
)

var payloads = setting.Choice{Of: "sdk: payload", Names: []string{"", "message", "release"}}

// String returns the name used in files: message, release, or "" for Auto.
func (p Payload) String() string { return payloads.Name(int(p)) }

// MarshalText returns the name, or an error if p is unknown.
func (p Payload) MarshalText() ([]byte, error) { return payloads.Text(int(p)) }

// UnmarshalText parses a name.
func (p *Payload) UnmarshalText(name []byte) error { return payloads.Parse((*int)(p), name) }
