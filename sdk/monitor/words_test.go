package monitor

import (
	"cmp"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// TestInWords checks that InWords turns the text of a common error into a clause that contains the address, and returns
// any other text unchanged.
func TestInWords(t *testing.T) {
	for fault, want := range map[string]string{
		"wss://b.example:47654/: dial tcp 192.0.2.17:47654: connect: connection refused":                                       "nothing listens at b.example:47654 (connection refused): the node is not running",
		"wss://b.example:7443/: dial tcp: lookup b.example on 127.0.0.53:53: no such host":                                     "the host name in b.example:7443 is unknown: check the fleet file",
		"wss://[2001:db8::1]:7443/: dial tcp [2001:db8::1]:7443: i/o timeout":                                                  "nothing answers at [2001:db8::1]:7443 (timeout): the host is off, or a firewall blocks the connection",
		"dial tcp 192.0.2.17:1: connectex: No connection could be made because the target machine actively refused":            "nothing listens at 192.0.2.17:1 (connection refused): the node is not running",
		"wss://b.example:7443/: proxy http://127.0.0.1:9 cannot be reached: dial tcp 127.0.0.1:9: connect: connection refused": "proxy http://127.0.0.1:9 cannot be reached: dial tcp 127.0.0.1:9: connect: connection refused",
		"the connection ended without a reason: EOF":                                                                           "the connection broke: the other node or its network failed",
		"context deadline exceeded":           "nothing answers at its address (timeout): the host is off, or a firewall blocks the connection",
		"its certificate is of another fleet": "its certificate is of another fleet",
		"":                                    "",
	} {
		if got := InWords(fault, false); got != want {
			t.Errorf("%q: %q, want %q", fault, got, want)
		}
	}
	for fault, want := range map[string]string{
		"mqtt: broker: dial tcp 127.0.0.1:18831: connect: connection refused": "nothing listens at 127.0.0.1:18831 (connection refused): the broker is not running, or its address is wrong",
		"dial tcp: lookup b.example on 127.0.0.53:53: no such host":           "the host name in b.example is unknown: check the node file",
		"dial tcp 192.0.2.17:1883: i/o timeout":                               "nothing answers at 192.0.2.17:1883 (timeout): the host is off, or a firewall blocks the connection",
		"mqtt: no connection to the broker: EOF":                              "the connection to the broker broke",
		"server shutting down":                                                "the broker closed the connection: it stopped",
		"not authorized":                                                      "not authorized",
	} {
		if got := InWords(fault, true); got != want {
			t.Errorf("broker, %q: %q, want %q", fault, got, want)
		}
	}
	// InWords must also recognize the error text that this operating system returns.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, err = net.DialTimeout("tcp", address, time.Minute)
	if got := InWords(fmt.Sprintf("wss://%s/: %v", address, err), false); got != "nothing listens at "+address+" (connection refused): the node is not running" {
		t.Errorf("%v is %q", err, got)
	}
}

// TestFindAlike checks which neighbors are together, and that nothing is hidden of the others.
func TestFindAlike(t *testing.T) {
	down := func(address string) *Link {
		return &Link{Fault: InWords("dial tcp "+address+": connect: connection refused", false)}
	}
	lost, broker := down("h:4"), Link{Broker: true, Fault: "nothing listens at h:9 (connection refused)"}
	lost.Lost = 1
	var b [3]Link
	for i := range b {
		b[i] = broker
	}
	for _, c := range []struct {
		links []*Link
		want  string // the names in Like
		fault string // of the first
	}{
		{[]*Link{down("h:1"), down("h:2"), {Connected: true}, down("h:3"), lost, nil}, "aa.a..", "nothing listens at its address"},
		{[]*Link{down("h:1"), down("h:2"), lost}, "...", "nothing listens at h:1"},
		{[]*Link{&b[0], &b[1], &b[2]}, "aaa", "nothing listens at h:9"},
		{[]*Link{{}, {Refusal: "other"}, {}, {}}, "a.aa", ""},
	} {
		var all []Neighbor
		for i, l := range c.links {
			all = append(all, Neighbor{Name: string(rune('a' + i)), Link: l})
		}
		findAlike(all)
		got := ""
		for _, n := range all {
			got += cmp.Or(n.Like, ".")
		}
		if got != c.want || !strings.HasPrefix(all[0].Link.Fault, c.fault) {
			t.Errorf("%q with %q, want %q with %q", got, all[0].Link.Fault, c.want, c.fault)
		}
	}
}

// TestProgress checks that in a run with mixing rounds, Progress states the number of releases and the number of
// learning rounds.
func TestProgress(t *testing.T) {
	mixed := Status{Rounds: 200, Mixing: 3, Cooldown: 30}
	for round, want := range map[int]string{
		0: "release 0 of 230", 1: "release 1 of 230, learning round 1 of 50",
		2: "release 2 of 230, learning round 1 of 50 (mixing 1 of 3)", 4: "release 4 of 230, learning round 1 of 50 (mixing 3 of 3)",
		5: "release 5 of 230, learning round 2 of 50", 200: "release 200 of 230, learning round 50 of 50 (mixing 3 of 3)",
		201: "release 201 of 230, cooling down", 230: "release 230 of 230, cooling down",
	} {
		if mixed.Round = round; mixed.Progress() != want {
			t.Errorf("%q, want %q", mixed.Progress(), want)
		}
	}
	if plain := (&Status{Round: 3, Rounds: 50, Cooldown: 30}); plain.Progress() != "round 3 of 80" {
		t.Errorf("%q", plain.Progress())
	}
}
