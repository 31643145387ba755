package sdk

// OnKey sets a callback that is called with every key from which noise is generated. epoch identifies the device, and
// incarnation identifies the process of the device.
func OnKey(f func(member, neighbor string, epoch uint16, incarnation uint64, release int, key [32]byte)) {
	if keyUsed = nil; f != nil {
		keyUsed = func(n *Node, neighbor string, release int, key [32]byte) {
			f(n.cfg.Name, neighbor, n.claims.Epoch, n.claims.Incarnation, release, key)
		}
	}
}
