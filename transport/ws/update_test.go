package ws

import (
	"errors"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/transport"
)

func at(p Peer, addresses ...string) Peer {
	p.Addresses = addresses
	return p
}

func (n node) update(t *testing.T, peers ...Peer) {
	t.Helper()
	if err := n.Update(peers); err != nil {
		t.Fatal(err)
	}
}

// TestUpdateErrors checks that an invalid update is refused as a whole and changes nothing.
func TestUpdateErrors(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"), peerOf("c"))
	a := start(t, "a", nil, peerOf("b"), peerOf("d"))
	a.reach(t, "b", b.Addr())
	a.log.await(t, "INFO", "connected", "peer=b")
	elsewhere := at(peerOf("b", "other"), "wss://192.0.2.1:1/")
	for name, c := range map[string]struct {
		peers []Peer
		want  []string
	}{
		"one is missing": {[]Peer{elsewhere}, []string{`the peers are ["b"], want ["b" "d"]`}},
		"one too many":   {[]Peer{elsewhere, peerOf("d"), peerOf("e")}, []string{`the peers are ["b" "d" "e"], want ["b" "d"]`}},
		"an address": {[]Peer{elsewhere, at(peerOf("d"), "http://d/", "wss://d:0/")},
			[]string{"http://d/", "port is 0"}},
	} {
		err := a.Update(c.peers)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if lines := strings.Split(err.Error(), "\n"); len(lines) != len(c.want) {
			t.Errorf("%s: %d faults, want %d:\n%v", name, len(lines), len(c.want), err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "ws: update: ") {
				t.Errorf("%s: error %v, want %q", name, err, want)
			}
		}
	}
	a.send(t, "b", []byte("still here"))
	b.expect(t, "a", []byte("still here"))
	if a.log.count("disconnected") != 0 || !a.peers["b"].pins(publicOf("b")) {
		t.Error("a refused update has changed something")
	}
}

// TestUpdateEndsWhatIsUnpinned checks that a connection stays open if a pin or an address is added, or if the only
// address of a peer that dialed is removed. Removing a pin must end the connection that used it, with an error that
// states the reason.
func TestUpdateEndsWhatIsUnpinned(t *testing.T) {
	a, b := pair(t, nil, nil)
	a.log.await(t, "INFO", "connected", "peer=b")
	a.update(t, at(peerOf("b", "b", "next"), "wss://192.0.2.1:1/", b.Addr()))
	b.update(t, at(peerOf("a", "next", "a"), "wss://192.0.2.1:1/"))
	b.update(t, peerOf("a", "next", "a"))
	a.send(t, "b", []byte("one"))
	b.expect(t, "a", []byte("one"))
	if a.log.count("disconnected")+b.log.count("disconnected") != 0 {
		t.Error("a connection whose key is still pinned has ended")
	}
	a.update(t, at(peerOf("b", "b", "next"), b.Addr()))
	b.update(t, peerOf("a", "next"))
	b.log.await(t, "disconnected", "peer=a", errUnpinned.Error())
	b.log.await(t, "caller refused", "not pinned for any peer")
}

// TestUpdateFollowsAPeerThatMoved checks that an update with a peer's new address replaces the connection to the old
// address, even if that connection is still open.
func TestUpdateFollowsAPeerThatMoved(t *testing.T) {
	a, b := pair(t, nil, nil)
	a.send(t, "b", []byte("old place"))
	b.expect(t, "a", []byte("old place"))
	moved := start(t, "b", nil, peerOf("a"))
	a.update(t, at(peerOf("b"), moved.Addr()))
	a.log.await(t, "disconnected", "peer=b", errMoved.Error())
	a.send(t, "b", []byte("new place"))
	moved.expect(t, "a", []byte("new place"))
}

// TestRotation changes the key and address of member b: member a first pins both keys, and then only the new key.
// Frames from member a must reach member b before and after the change, and each end accepts the second key that it pins.
func TestRotation(t *testing.T) {
	b := start(t, "b", nil, peerOf("a", "a of old", "a"))
	a := start(t, "a", nil, peerOf("b"))
	a.reach(t, "b", b.Addr())
	a.send(t, "b", []byte("old"))
	b.expect(t, "a", []byte("old"))
	a.update(t, at(peerOf("b", "b", "b2"), b.Addr()))
	b.Close()
	next := start(t, "b", func(c *Config) { c.Key = keyOf("b2") }, peerOf("a"))
	a.update(t, at(peerOf("b", "b2"), next.Addr()))
	a.send(t, "b", []byte("new"))
	next.expect(t, "a", []byte("new"))

	// The holder of the old key is now a stranger, even at the old address of b.
	impostor := start(t, "b", nil, peerOf("a"))
	a.update(t, at(peerOf("b", "b2"), impostor.Addr()))
	next.Close()
	a.log.await(t, "no connection", "peer=b", "presents the key "+transport.FormatKey(publicOf("b"))+";")
}

// TestUpdateBetweenHandshakeAndHello checks that no frame passes if a caller's key is unpinned after the caller has
// proved it and before its hello is complete.
func TestUpdateBetweenHandshakeAndHello(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"))
	r := dialRaw(t, b, "a")
	b.update(t, peerOf("a", "next"))
	r.put(t, kindHello, 0, nil)
	if err := r.farewell(); !errors.As(err, new(closedError)) || !strings.Contains(err.Error(), errUnpinned.Error()) {
		t.Errorf("the end of the connection is %v, want it to say %q", err, errUnpinned)
	}
	b.log.await(t, "no connection", "peer=a", errUnpinned.Error())
}

// TestUpdateUnderLoad changes pins while frames flow in both directions. After the changes stop, frames must still arrive.
func TestUpdateUnderLoad(t *testing.T) {
	a, b := pair(t, nil, nil)
	end := flow(t, a, b, true)
	const rotations = 30
	for i := range rotations {
		n, peer := a, at(peerOf("b"), b.Addr())
		if i%2 == 1 {
			n, peer = b, peerOf("a")
		}
		gone := peer
		gone.Keys = peerOf("x", "nobody").Keys
		n.update(t, gone)
		n.update(t, peer)
		b.log.await(t, "INFO", "connected") // wait for a connection, so that the update can end one
	}
	end(5)
	if ended := a.log.count(errUnpinned.Error()) + b.log.count(errUnpinned.Error()); ended == 0 {
		t.Error("no connection was ended")
	}
}
