package nats

import (
	"os"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
)

func TestSameBits(t *testing.T) { brokertest.SameBits(t, newBroker(t).End) }

func ring8(run string) *brokertest.Network { return brokertest.Ring(run, 8, false, 16) }

// TestKills restarts servers, cuts networks and kills nodes at random moments until it has caused 12 faults, or the
// number of faults in the environment variable SPADE_KILLS.
func TestKills(t *testing.T) {
	brokertest.Faults(t, brokertest.Scale(t, "SPADE_KILLS", 12), ring8,
		func(t *testing.T) brokertest.Broker { return newBroker(t) })
}

// TestLongCut cuts off two members from the broker, each for a second or for the duration in the environment variable
// SPADE_CUT, such as 30s.
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
