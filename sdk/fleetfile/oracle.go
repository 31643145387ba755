package fleetfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Oracle is the source of a node's losses.
type Oracle interface {
	// Open loads and prepares data, or starts a program and reads its hello. ctx bounds only this step. The caller
	// must close the source once.
	Open(ctx context.Context, fleet *File) (*Source, error)
	String() string // describes the oracle for people
}

func init() { RegisterOracle("stream", parseStream) }

// Stream is a program that answers a stream of queries.
type Stream scorer.StreamConfig

// parseStream parses the section "oracle" of a node file whose oracle is a program. The program runs in the node file's
// folder.
func parseStream(section json.RawMessage, dir string) (Oracle, error) {
	var form struct {
		Stream      []string      `json:"stream"`
		Workers     int           `json:"workers"`
		Timeout     *float64      `json:"timeout_seconds"`
		Environment []string      `json:"environment"`
		Format      scorer.Format `json:"format"`
		Start       *float64      `json:"start_seconds"`
	}
	form.Workers = 1 // unless the section has another value
	if err := ReadSection("oracle", section, &form); err != nil {
		return nil, err
	}
	var errs faults
	workers := min(max(1, form.Workers), 1024)
	errs.when(workers != form.Workers, "oracle.workers is %d, want a whole number, 1..1024", form.Workers)
	s := &Stream{Program: scorer.Program{Command: form.Stream, Dir: dir, Workers: workers,
		Timeout:     seconds(form.Timeout, "oracle.timeout_seconds", &errs),
		Environment: form.Environment}, Format: form.Format, Start: seconds(form.Start, "oracle.start_seconds", &errs)}
	for _, err := range Each(scorer.StreamConfig(*s).Validate()) {
		errs.at("oracle.stream", err)
	}
	return s, errors.Join(errs...)
}

// String returns the number of processes and the command of the program.
func (s *Stream) String() string {
	return fmt.Sprintf("%d in parallel: %s", s.Workers, strings.Join(s.Command, " "))
}

// Open starts the program and reads its hello, see [Oracle].
func (s *Stream) Open(ctx context.Context, fleet *File) (*Source, error) {
	cfg := scorer.StreamConfig(*s)
	cfg.Apart = fleet.Fleet.Privacy.Unit == dpmech.Record
	program, err := scorer.OpenStream(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("oracle.stream: %w", err)
	}
	source := External(program, program.Samples())
	source.Restarts, source.Close = program.Restarts, program.Close
	if 2*s.Workers > 16 {
		source.Window = 2 * s.Workers
	}
	if err := checkProgram(fleet.Fleet, program.Dim(), program.Task()); err != nil {
		return nil, errors.Join(err, program.Close())
	}
	return source, nil
}

// Source is an opened [Oracle], ready for queries.
type Source struct {
	Oracle  sdk.Oracle
	Samples int
	// Window is the number of concurrent queries; 0 means the default of the SDK.
	Window int

	// Test evaluates models on held-back samples; nil if there are no such samples, or if the losses come from a
	// program.
	Test Judge
	// Asked returns the mean loss of the queries since the last call of Asked, or NaN if there were no queries. The
	// mean comes directly from the data. Asked is nil if Test is set, because Test gives more information.
	Asked func() float64
	// Rows tells which rows of a table have no effect; only the node's operator may see it. If records or persons are
	// the unit, these rows still count as samples, with the loss NaN.
	Rows Rows
	// Restarts returns how often a process that computes losses has been started again, and why it ended last. It is nil
	// if there is no such process.
	Restarts func() (n int, last error)

	ConditionalOn []string     // the assumptions of the privacy guarantee, for the certificate
	Close         func() error // closes the oracle and ends its processes; never nil
}

// Rows describes the rows of a table. It is zero for other sources.
type Rows struct {
	All     int     // in the table
	Lost    int     // could not be read
	Reasons []error // up to ten different reasons, each with its first line
	Beyond  int     // are more than the run allows for their person
}

// Counts says how many rows have no effect, in one line; it is empty if there are none.
func (r Rows) Counts() string {
	var all []string
	if r.Lost > 0 {
		all = append(all, fmt.Sprintf("%d of %d rows cannot be read and have no effect", r.Lost, r.All))
	}
	if r.Beyond > 0 {
		all = append(all, fmt.Sprintf("%d of %d rows have no effect, because their persons have more rows than the fleet's privacy.places",
			r.Beyond, r.All))
	}
	return strings.Join(all, "; ")
}

// Why has the first three reasons for lost rows in one line.
func (r Rows) Why() string {
	var why []string
	for _, err := range r.Reasons[:min(3, len(r.Reasons))] {
		why = append(why, strings.TrimPrefix(err.Error(), "task: "))
	}
	if more := len(r.Reasons) - len(why); more > 0 {
		why = append(why, fmt.Sprintf("and others (%d)", more))
	}
	return strings.Join(why, "; ")
}

// Judge evaluates models on held-back samples.
type Judge interface {
	MeanLoss(x []float32) float64
	Accuracy(x []float32) float64 // NaN if the model predicts a number
	Majority() float64            // the accuracy of always predicting the most frequent class
}

// ErrMismatch is wrapped by errors of [Oracle].Open if the node file, the fleet file and the data do not match. An
// error of Open that does not wrap it means that the data cannot be read or a program does not start.
var ErrMismatch = errors.New("fleetfile: node file, fleet file and data do not match")

type mismatch struct{ error }

func (m mismatch) Is(target error) bool { return target == ErrMismatch }
func (m mismatch) Unwrap() error        { return m.error }

// Mismatchf returns an error with the given text that wraps [ErrMismatch].
func Mismatchf(format string, args ...any) error { return mismatch{fmt.Errorf(format, args...)} }

// External returns a source whose losses come from program, which has the given number of samples. The caller has
// opened program and must close it: Close of the source does nothing.
func External(program zoest.BatchOracle, samples int) *Source {
	meter := &scorer.Meter{BatchOracle: program}
	return &Source{
		Oracle: meter, Asked: meter.Mean, Samples: samples, Close: func() error { return nil },
		ConditionalOn: []string{
			"the losses come from an external program; the guarantee does not cover what else the program does with the data",
		},
	}
}
