// Package broker reads the section of node files for a broker, NATS or MQTT, in programs that import it. It does not connect:
// the modules transport/nats and transport/mqtt do.
package broker
