// Command spade-edge-nats runs one node of a fleet that meets at a NATS broker: a device that can only dial out, or
// sleeps.
//
//	spade-edge-nats run NODEFILE [-json]
//
// The node file is that of spade-edge with "transport": {"nats": "tls://host:port"} in place of "listen". Everything
// else, from the making of keys, fleets and ledgers to the checking of certificates, is done with spade-edge.
package main
