// Package broker lets a program that imports it read node files with a NATS or MQTT broker. It does not connect to a
// broker; the module transport/broker does that.
package broker
