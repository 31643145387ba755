// Package broker is the section of node files for a node that meets its neighbors at a broker, NATS or MQTT. A program
// that imports it reads such files. It connects to nobody: transport/nats and transport/mqtt do, modules with a program
// each.
package broker
