// Command spade-edge-mqtt is spade-edge for nodes that communicate through an MQTT broker: devices that sleep, or that
// cannot reach anything else.
//
//	spade-edge-mqtt run NODEFILE [-json]
//
// The node file is that of spade-edge with "transport": {"mqtt": "tls://host:port"} in place of "listen". All commands
// are those of spade-edge.
package main
