package trust

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Action is what a driver does with a message that it has received.
type Action uint8

const (
	Take    Action = iota // pass it to the machine of package admm, which ignores repeats
	Ignore                // nothing: the message proves nothing, and a member without keys may send it
	Discard               // count it as refused, and log nothing: the edge to the sender is dropped
	Refuse                // count it as refused, and log Why
	Drop                  // drop the edge to the sender because of Why; refuse the message unless Told
	End                   // end the run with Why, for good
)

// Verdict is a decision about a message. If [Machine.Unstored] is set, the driver stores the journal first.
type Verdict struct {
	Action Action
	Why    error          // nil for Take, Ignore and Discard
	Notes  []Note         // for the log of the device
	Send   []admm.Message // answers to the sender

	Told   bool          // of Drop: the neighbor has dropped the edge, and the message is its notice
	Frames []state.Frame // of Drop: statements to keep with the received message

	Lost    int  // of End: charge this member's releases up to this one, which its state lacks; 0 for none
	Exposed bool // of End: the present key of this member has signed two releases of one round, so it can never continue
}

// Note is a line of the log: a text that does not vary, and keys and values as for [slog.Log].
type Note struct {
	Level slog.Level
	Text  string
	Args  []any
}

// ErrClone reports that this member's key has signed two releases of one round.
var ErrClone = errors.New("another device makes releases in this node's name")

// ErrQuarantine reports that all edges of this member are in quarantine.
var ErrQuarantine = errors.New("every edge of this node is in quarantine")

const findOther = "find the other device, then start the fleet again under a new run id and with a new key"

func refuse(err error) Verdict {
	if err == nil {
		return Verdict{}
	}
	return Verdict{Action: Refuse, Why: err}
}

func refusef(format string, args ...any) Verdict {
	return refuse(fmt.Errorf("trust: "+format, args...))
}

func end(err error) Verdict {
	if err == nil {
		return Verdict{}
	}
	return Verdict{Action: End, Why: err}
}

// Lost returns the error for a device whose stored state ends with the given release, or that has no state (0), although
// it has made a later one. known says what proves that. more begins the advice, or is empty. The error wraps
// [state.ErrLost].
func Lost(known string, round int, more string) error {
	ends := fmt.Sprintf("the stored state ends with release %d", round)
	if round == 0 {
		ends = "this device has lost its state of the run"
	}
	return fmt.Errorf("%s, but %s: %w; %srestore the newest state and ledger (without a Store, a node keeps no state); if they are "+
		"lost, this device is out of this run, and the others continue without it", known, ends, state.ErrLost, more)
}

// LostTo is [Lost] for a neighbor that holds a release of this member that its state lacks.
func LostTo(neighbor string, held, round int) error {
	return Lost(fmt.Sprintf("trust: %q holds release %d of this node", neighbor, held), round,
		"the cost of the lost releases stays charged, and continuing would release a round twice: ")
}
