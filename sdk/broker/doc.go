// Package broker reads the broker section, NATS or MQTT, of node files in programs that import it. It does not connect;
// the modules transport/nats and transport/mqtt do.
package broker
