package sdk

// OnKey sets a callback for every key from which noise is made. epoch identifies the device and incarnation its
// process.
func OnKey(f func(member, neighbor string, epoch uint16, incarnation uint64, release int, key [32]byte)) {
	if keyUsed = nil; f != nil {
		keyUsed = func(n *Node, neighbor string, release int, key [32]byte) {
			f(n.cfg.Name, neighbor, n.claims.Epoch, n.claims.Incarnation, release, key)
		}
	}
}

// LevelsOf computes [Fleet.Levels] from the privacy settings and the graph of pairwise noise.
var LevelsOf = Privacy.levels
