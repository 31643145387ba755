// Package broker is the section of node files for a node that meets its neighbors at a NATS broker. A program that
// imports it reads such files. It connects to nobody: package transport/nats does, a module with a program of its own.
package broker
