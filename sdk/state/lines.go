package state

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// maxLines bounds the lines of a file that [parseLines] reads: far more than members that a fleet can have.
const maxLines = 4096

// parseLines returns what a file has, a JSON object a line, each accepted by check. Every error names the line.
func parseLines[T any](text []byte, check func(*T) error) (list []T, err error) {
	for line := range bytes.Lines(text) {
		var one T
		err := dpmech.ReadJSON(bytes.TrimSuffix(line, []byte{'\n'}), &one)
		if err == nil {
			err = check(&one)
		}
		if err == nil && len(list) == maxLines {
			err = fmt.Errorf("there are more than %d", maxLines)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(list)+1, err)
		}
		list = append(list, one)
	}
	return list, nil
}

// encodeLines returns JSON objects, one a line.
func encodeLines[T any](list []T) ([]byte, error) {
	if len(list) > maxLines {
		return nil, fmt.Errorf("state: %d lines, want at most %d", len(list), maxLines)
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	for i := range list {
		if err := out.Encode(&list[i]); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}
