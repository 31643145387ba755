package main

import (
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
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

// accountingOf returns how a fleet reads epsilon.
func accountingOf(p sdk.Privacy) dpmech.Accounting {
	if a, err := dpmech.ParseAccounting(p.Accounting); err == nil {
		return a
	}
	return dpmech.GDP // left to its default
}
