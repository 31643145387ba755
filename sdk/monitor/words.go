package monitor

import (
	"regexp"
	"strings"
)

const (
	silent = "nothing answers at ADDRESS (timeout): it is off, or a firewall is in between"
	broken = "the connection broke: its node or its network went away"
	ended  = "its node ended the connection: it stopped, or is done"
	far    = "the network of ADDRESS cannot be reached from here"
)

// reasons are the endings of common connection errors, and their meaning.
var reasons = [][2]string{
	{"refused", "nothing listens at ADDRESS (connection refused): its node does not run"}, {"unreachable", far}, {"no route to host", far},
	{"no such host", "the name in ADDRESS is not known: check it in the fleet file"},
	{"i/o timeout", silent}, {"deadline exceeded", silent}, {"EOF", broken}, {"reset by peer", broken}, {"broken pipe", broken},
	{"closed network connection", broken}, {"going away", ended}, {"goodbye", ended},
}

var addressIn = regexp.MustCompile(`(?:dial tcp |lookup |://)([^\s/]+?)(?:: |/| on )`)

// InWords turns a common connection error into a clause for people, with the address in it. It returns other errors
// unchanged.
func InWords(fault string) string {
	for _, r := range reasons {
		if strings.HasSuffix(fault, r[0]) {
			address := append(addressIn.FindStringSubmatch(fault), "", "its address")
			return strings.ReplaceAll(r[1], "ADDRESS", address[1])
		}
	}
	return fault
}
