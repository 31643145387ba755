package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// maxLines bounds the lines of a file that [readLines] reads: far more than members that a fleet can have.
const maxLines = 4096

// readLines returns what a file has, a JSON object a line, each accepted by check. A missing file has none. Every error
// names the line and ends with what a user can do about it besides bringing back a copy.
func readLines[T any](path, remedy string, check func(*T) error) (list []T, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, named(err)
	}
	for line := range bytes.Lines(data) {
		var one T
		err := dpmech.ReadJSON(bytes.TrimSuffix(line, []byte{'\n'}), &one)
		if err == nil {
			err = check(&one)
		}
		if err == nil && len(list) == maxLines {
			err = fmt.Errorf("there are more than %d", maxLines)
		}
		if err != nil {
			return nil, fmt.Errorf("state: %s, line %d: %w; bring the file back from a copy, or remove it%s",
				path, len(list)+1, err, remedy)
		}
		list = append(list, one)
	}
	return list, nil
}

// writeLines gives a file these lines, durably: after a crash it has the old ones or the new ones.
func writeLines[T any](path string, list []T) error {
	if len(list) > maxLines {
		return fmt.Errorf("state: %s: %d lines, want at most %d", path, len(list), maxLines)
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	for i := range list {
		if err := out.Encode(&list[i]); err != nil {
			return err
		}
	}
	return named(replaceFile(path, text.Bytes()))
}
