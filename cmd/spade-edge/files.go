package main

import (
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// readFiles reads a node file and the fleet file that it names; the key is not needed to ask how a node is.
func readFiles(path string) (*fleetfile.Node, *fleetfile.File, error) {
	file, err := fleetfile.ReadNode(path)
	if err != nil {
		return nil, nil, usageError{err}
	}
	fleet, err := fleetfile.Read(file.Fleet)
	if err != nil {
		return nil, nil, usageError{err}
	}
	return file, fleet, nil
}

// certificatePath returns where a node keeps its certificate.
func certificatePath(state string) string { return filepath.Join(state, "certificate.json") }
