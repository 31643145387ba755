// Package node has the commands of one device: run, status, stop, check, export, predict and evaluate.
package node
