// Command spade-edge-mqtt is spade-edge for nodes that communicate through an MQTT broker. Such nodes may sleep, or be
// unable to reach anything but the broker.
//
//	spade-edge-mqtt run NODEFILE [-json]
//
// The node file is that of spade-edge with "transport": {"mqtt": "tls://host:port"} in place of "listen". All commands
// are those of spade-edge.
package main
