// Package node has the commands of one device: run, status, stop, check, export, predict, evaluate and inspect.
package node
