package monitor

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk"
)

// reasons lists the endings of common connection errors, and their meaning in plain words: for a connection with a node,
// and for one with a broker. An ending without a second meaning has the same one for both.
var reasons = []struct{ ending, node, broker string }{
	{"refused", "nothing listens at ADDRESS (connection refused): the node is not running",
		"nothing listens at ADDRESS (connection refused): the broker is not running, or its address is wrong"},
	{"unreachable", "the network of ADDRESS is unreachable from here", ""},
	{"no route to host", "the network of ADDRESS is unreachable from here", ""},
	{"no such host", "the host name in ADDRESS is unknown: check the fleet file",
		"the host name in ADDRESS is unknown: check the node file"},
	{"i/o timeout", silent, ""}, {"deadline exceeded", silent, ""},
	{"EOF", broken, brokerBroke}, {"reset by peer", broken, brokerBroke}, {"broken pipe", broken, brokerBroke},
	{"closed network connection", broken, brokerBroke},
	{"going away", ended, brokerEnded}, {"goodbye", ended, brokerEnded}, {"shutting down", ended, brokerEnded},
}

const (
	silent      = "nothing answers at ADDRESS (timeout): the host is off, or a firewall blocks the connection"
	broken      = "the connection broke: the other node or its network failed"
	ended       = "the other node closed the connection: it stopped, or is done"
	brokerBroke = "the connection to the broker broke"
	brokerEnded = "the broker closed the connection: it stopped"
)

var addressIn = regexp.MustCompile(`(?:dial tcp |lookup |://)([^\s/]+?)(?:: |/| on )`)

// InWords turns the text of a common connection error into a clause in plain words that contains the address. The other
// end of the connection is a node or, if broker is true, a broker. If a proxy cannot be reached, InWords returns the part
// of the text that names the proxy and the reason. It returns the text of any other error unchanged.
func InWords(fault string, broker bool) string {
	if at := strings.Index(fault, "proxy "); at >= 0 && strings.Contains(fault[at:], " cannot be reached: ") {
		return fault[at:]
	}
	for _, r := range reasons {
		if strings.HasSuffix(fault, r.ending) {
			address, words := append(addressIn.FindStringSubmatch(fault), "", "its address"), r.node
			if broker {
				words = cmp.Or(r.broker, r.node)
			}
			return strings.ReplaceAll(words, "ADDRESS", address[1])
		}
	}
	return fault
}

var namedAddress = regexp.MustCompile(` at \S+ \(`) // in the words of InWords

// findAlike sets [Neighbor].Like.
func findAlike(all []Neighbor) {
	type state struct {
		fault   string
		missing bool
	}
	alike := map[state][]*Neighbor{}
	for i := range all {
		n := &all[i]
		l := n.Link
		if l == nil || l.Connected || l.Silent || l.Refusal != "" || l.Lost > 0 || l.Received > 0 || n.Round > 0 || n.Quarantine != nil {
			continue
		}
		fault := l.Fault
		if !l.Broker { // a broker's address is that of all
			fault = namedAddress.ReplaceAllString(fault, " at its address (")
		}
		alike[state{fault, n.Missing}] = append(alike[state{fault, n.Missing}], n)
	}
	for s, same := range alike {
		for _, n := range same {
			if len(same) > 2 {
				n.Like, n.Link.Fault = same[0].Name, s.fault
			}
		}
	}
}

// PhaseOf describes a release, such as "learning" or "cooling down".
func PhaseOf(m sdk.Method, release int) string {
	switch data := m.Data(release); {
	case release > m.Learning():
		return "cooling down"
	case m.Mixing == 0:
		return "learning"
	case data > m.Data(release-1):
		return fmt.Sprintf("learning round %d of %d", data, m.Rounds)
	default:
		return fmt.Sprintf("learning round %d of %d (mixing %d of %d)", data, m.Rounds, (release-1)%(1+m.Mixing), m.Mixing)
	}
}
