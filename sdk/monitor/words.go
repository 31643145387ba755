package monitor

import (
	"cmp"
	"regexp"
	"strings"
)

// reasons are the ends of errors of connections, in the words of several systems, and what they mean.
var reasons = []struct{ end, words string }{
	{"refused", "nothing listens at ADDRESS (connection refused): its node does not run"},
	{"no such host", "the name in ADDRESS is not known: check it in the fleet file"},
	{"i/o timeout", "nothing answers at ADDRESS (timeout): it is off, or a firewall is in between"},
	{"deadline exceeded", "nothing answers at ADDRESS (timeout): it is off, or a firewall is in between"},
	{"unreachable", "the network of ADDRESS cannot be reached from here"},
	{"no route to host", "the network of ADDRESS cannot be reached from here"},
	{"EOF", "the connection broke: its node or its network went away"},
	{"reset by peer", "the connection broke: its node or its network went away"},
	{"broken pipe", "the connection broke: its node or its network went away"},
	{"closed network connection", "the connection broke: its node or its network went away"},
	{"going away", "its node ended the connection: it stopped, or is done"},
	{"goodbye", "its node ended the connection: it stopped, or is done"},
}

var addressIn = regexp.MustCompile(`(?:dial tcp |lookup |://)([^\s/]+?)(?:: |/| on )`)

// InWords returns the error of a connection as a clause for people, with the address it names; the error itself if it is not one
// of those that everybody meets.
func InWords(fault string) string {
	for _, r := range reasons {
		if strings.HasSuffix(fault, r.end) {
			address := "its address"
			if found := addressIn.FindStringSubmatch(fault); found != nil {
				address = cmp.Or(found[1], address)
			}
			return strings.ReplaceAll(r.words, "ADDRESS", address)
		}
	}
	return fault
}
