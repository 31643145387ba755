// Package broker reads the section of a node file that describes a broker, NATS or MQTT, in programs that import the
// package. It does not connect to a broker; the modules transport/nats and transport/mqtt do that.
package broker
