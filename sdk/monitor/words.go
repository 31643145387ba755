package monitor

import (
	"regexp"
	"strings"
)

const (
	silent = "nothing answers at ADDRESS (timeout): the host is off, or a firewall blocks the connection"
	broken = "the connection broke: the other node or its network failed"
	ended  = "the other node closed the connection: it stopped, or is done"
	far    = "the network of ADDRESS is unreachable from here"
)

// reasons lists pairs: the ending of a common connection error, and its meaning in plain words.
var reasons = [][2]string{
	{"refused", "nothing listens at ADDRESS (connection refused): the node is not running"}, {"unreachable", far}, {"no route to host", far},
	{"no such host", "the host name in ADDRESS is unknown: check the fleet file"},
	{"i/o timeout", silent}, {"deadline exceeded", silent}, {"EOF", broken}, {"reset by peer", broken}, {"broken pipe", broken},
	{"closed network connection", broken}, {"going away", ended}, {"goodbye", ended},
}

var addressIn = regexp.MustCompile(`(?:dial tcp |lookup |://)([^\s/]+?)(?:: |/| on )`)

// InWords turns the text of a common connection error into a clause in plain words that contains the address. It
// returns the text of any other error unchanged.
func InWords(fault string) string {
	for _, r := range reasons {
		if strings.HasSuffix(fault, r[0]) {
			address := append(addressIn.FindStringSubmatch(fault), "", "its address")
			return strings.ReplaceAll(r[1], "ADDRESS", address[1])
		}
	}
	return fault
}
