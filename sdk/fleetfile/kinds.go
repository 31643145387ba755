package fleetfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech/strict"
	"github.com/spade-dfl/spade-edge/sdk"
)

// kinds holds the registered kinds for one section of a node file, either "oracle" or "transport", each with the
// function that parses the section. The name of a field in the section selects the kind.
type kinds[T any] map[string]func(section json.RawMessage, dir string) (T, error)

var (
	oracles    = kinds[Oracle]{}
	transports = kinds[any]{}
	taskChecks []func(fleet *sdk.Fleet) error
)

// RegisterOracle adds a kind of oracle; call it from the init function of a package. A node file selects the kind by a
// field of this name in the section "oracle". parse gets the whole section and the folder for relative paths, and
// reports all errors at once.
func RegisterOracle(kind string, parse func(section json.RawMessage, dir string) (Oracle, error)) {
	oracles.register(kind, parse)
}

// RegisterTransport adds a kind of transport other than websockets. It works like RegisterOracle, for the section
// "transport". The result of parse becomes [Node.Transport].
func RegisterTransport(kind string, parse func(section json.RawMessage, dir string) (any, error)) {
	transports.register(kind, parse)
}

// RegisterTask adds a check of every fleet with a task. Without any check, a task may be any JSON object.
func RegisterTask(check func(fleet *sdk.Fleet) error) { taskChecks = append(taskChecks, check) }

func checkTask(fleet *sdk.Fleet) (errs faults) {
	if fleet.Task != nil {
		for _, check := range taskChecks {
			errs = append(errs, Each(check(fleet))...)
		}
	}
	return errs
}

func (k kinds[T]) register(kind string, parse func(json.RawMessage, string) (T, error)) {
	if k[kind] != nil {
		panic(fmt.Sprintf("fleetfile: kind %q is registered twice", kind))
	}
	k[kind] = parse
}

func (k kinds[T]) names() string { return strings.Join(slices.Sorted(maps.Keys(k)), ", ") }

func (k kinds[T]) read(name string, section json.RawMessage, dir string) (t T, err error) {
	var fields map[string]json.RawMessage
	if err := strict.ReadJSON(section, &fields); err != nil || fields == nil {
		return t, fmt.Errorf("%s is %.60s, want an object", name, section)
	}
	has := slices.Sorted(maps.Keys(fields))
	named := slices.DeleteFunc(slices.Clone(has), func(field string) bool { return k[field] == nil })
	if len(named) != 1 {
		return t, fmt.Errorf("%s has the fields %q, want exactly one of the kinds that this program supports: %s", name, has, k.names())
	}
	return k[named[0]](section, dir)
}

// ReadSection reads a section of a node file into form, see [strict.ReadJSON].
func ReadSection(name string, section json.RawMessage, form any) error {
	if err := strict.ReadJSON(section, form); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
