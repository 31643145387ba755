package experiment

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/spade-dfl/spade-edge/examples/paper/method"
)

// trialLog is the file that records all trials of the search. It is safe for concurrent use.
type trialLog struct {
	path string
	mu   sync.Mutex
	done map[string]float64
}

var trialHeader = []string{"setting", "trial", "seed", "accuracy", "seconds", "parameters", "error"}

func openTrials(path string) (*trialLog, error) {
	b := &trialLog{path: path, done: make(map[string]float64)}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(text) == 0 {
		return b, appendTo(path, []byte(strings.Join(trialHeader, ",")+"\n"))
	}
	for line := range bytes.Lines(text) {
		if row := trial(line); row != nil {
			if score, err := strconv.ParseFloat(row[3], 64); err == nil {
				b.done[strings.Join(row[:3], " ")] = score
			}
		}
	}
	return b, nil
}

// trial returns the fields of one line of the file, or nil if the line is truncated. A trial takes exactly one line,
// because no field contains a line break.
func trial(line []byte) []string {
	row, err := csv.NewReader(bytes.NewReader(line)).Read()
	if err != nil || len(row) != len(trialHeader) {
		return nil
	}
	return row
}

func (b *trialLog) find(key string, trial int, seed uint64) (float64, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	score, ok := b.done[fmt.Sprint(key, " ", trial, " ", seed)]
	return score, ok
}

func (b *trialLog) add(key string, trial int, seed uint64, score, seconds float64, s method.Setting,
	note string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var text strings.Builder
	w := csv.NewWriter(&text)
	err := w.Write([]string{key, strconv.Itoa(trial), strconv.FormatUint(seed, 10),
		strconv.FormatFloat(score, 'g', -1, 64),
		strconv.FormatFloat(seconds, 'g', -1, 64), s.String(), strings.ReplaceAll(note, "\n", " ")})
	w.Flush()
	if err != nil {
		return err
	}
	return appendTo(b.path, []byte(text.String()))
}
