package fleetfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
)

// Oracle says where a node's losses come from.
type Oracle interface {
	// Open loads and prepares data, or starts a program and reads its greeting. ctx bounds that start and nothing else. The
	// caller calls Close of the source once.
	Open(ctx context.Context, fleet *File) (*Source, error)
	String() string // for people
}

func init() { RegisterOracle("stream", parseStream) }

// Stream is a program that answers query after query.
type Stream scorer.StreamConfig

// parseStream reads a program, which runs in the node file's folder.
func parseStream(section json.RawMessage, dir string) (Oracle, error) {
	var form struct {
		Stream      []string      `json:"stream"`
		Workers     *int          `json:"workers"`
		Timeout     *float64      `json:"timeout_seconds"`
		Environment []string      `json:"environment"`
		Format      scorer.Format `json:"format"`
		Start       *float64      `json:"start_seconds"`
	}
	if err := ReadSection("oracle", section, &form); err != nil {
		return nil, err
	}
	var errs faults
	workers := 1
	if form.Workers != nil {
		workers = *form.Workers
		errs.when(workers < 1 || workers > 1024, "oracle.workers is %d, want a whole number, 1..1024", workers)
	}
	s := &Stream{Program: scorer.Program{Command: form.Stream, Dir: dir, Workers: max(1, workers),
		Timeout:     seconds(form.Timeout, "oracle.timeout_seconds", &errs),
		Environment: form.Environment}, Format: form.Format, Start: seconds(form.Start, "oracle.start_seconds", &errs)}
	for _, err := range each(scorer.StreamConfig(*s).Validate()) {
		errs.at("oracle.stream", err)
	}
	return s, errors.Join(errs...)
}

// String names the program and how many run side by side.
func (s *Stream) String() string {
	return fmt.Sprintf("%d running side by side: %s", s.Workers, strings.Join(s.Command, " "))
}

// Open starts the program, see [Oracle].
func (s *Stream) Open(ctx context.Context, fleet *File) (*Source, error) {
	cfg := scorer.StreamConfig(*s)
	cfg.Apart = fleet.Fleet.Privacy.Unit == sdk.UnitRecord
	program, err := scorer.OpenStream(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("oracle.stream: %w", err)
	}
	if dim := fleet.Fleet.Dim; program.Dim() != dim {
		err := Mismatchf("oracle.stream says that it has %d parameters, but dim of the fleet is %d", program.Dim(), dim)
		return nil, errors.Join(err, program.Close())
	}
	return ofProgram(program, s.Workers), nil
}
