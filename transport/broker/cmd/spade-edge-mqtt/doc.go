// Command spade-edge-mqtt is the program spade-edge for nodes that communicate through an MQTT broker. Such nodes may
// sleep, or be unable to reach any server except the broker.
//
//	spade-edge-mqtt run NODEFILE [-json]
//
// The node file is like that of spade-edge, but contains "transport": {"mqtt": "tls://host:port"} instead of "listen".
// The commands are the same as those of spade-edge.
package main
