package sdk

// OnKey sets a callback that is called with every key from which noise is generated.
func OnKey(f func(member, neighbor string, release int, key [32]byte)) { keyUsed = f }
