// Package broker reads the broker section, NATS or MQTT, of node files in programs that import it. It does not connect
// to a broker; the modules transport/nats and transport/mqtt do that.
package broker
