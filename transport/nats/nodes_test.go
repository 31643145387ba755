package nats

import (
	"os"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport/internal/brokertest"
)

func TestSameBits(t *testing.T) { brokertest.SameBits(t, newBroker(t).End) }

func ring8(run string) *brokertest.Network { return brokertest.Ring(run, 8, false, 16) }

// Servers restart, networks are cut and nodes are killed at random moments until there have been 12 faults, or as many
// as the environment variable SPADE_KILLS says.
func TestKills(t *testing.T) {
	brokertest.Faults(t, brokertest.Scale(t, "SPADE_KILLS", 12), ring8,
		func(t *testing.T) brokertest.Broker { return newBroker(t) })
}

// Two members are cut off from the broker, each for a second or for the duration in the environment variable SPADE_CUT,
// such as 30s.
func TestLongCut(t *testing.T) {
	length := time.Second
	if s := os.Getenv("SPADE_CUT"); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	brokertest.LongCut(t, length, newBroker(t))
}
