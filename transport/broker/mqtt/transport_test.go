package mqtt

import (
	"testing"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
)

func TestConformance(t *testing.T) { brokertest.Conformance(t, newToy(t).honest().End) }
func TestCutOff(t *testing.T)      { brokertest.CutOff(t, newToy(t).honest().End) }
func TestOtherFleet(t *testing.T)  { brokertest.OtherFleet(t, newToy(t).honest().End) }
func TestSameBits(t *testing.T)    { brokertest.SameBits(t, newToy(t).honest().End) }

func TestRunOverHostileBroker(t *testing.T) {
	brokertest.RunOverHostile(t, hostile{newToy(t)}, hostile{newToy(t)})
}
