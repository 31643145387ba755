// Command spade-edge-nats runs one node of a fleet that communicates through a NATS broker. Such a node may sleep, or
// be unable to accept connections.
//
//	spade-edge-nats run NODEFILE [-json]
//
// The node file is like that of spade-edge, but contains "transport": {"nats": "tls://host:port"} instead of "listen".
// Use spade-edge for everything else, such as keys, fleets, ledgers and certificates.
package main
