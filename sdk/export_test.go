package sdk

// OnKey sets a callback that is called with every key from which noise is generated. incarnation identifies the process.
func OnKey(f func(member, neighbor string, incarnation uint64, release int, key [32]byte)) {
	if keyUsed = nil; f != nil {
		keyUsed = func(n *Node, neighbor string, release int, key [32]byte) {
			f(n.cfg.Name, neighbor, n.claims.Incarnation, release, key)
		}
	}
}
