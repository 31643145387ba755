package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"github.com/spade-dfl/spade-edge/examples/paper/method"
)

// Settings holds the parameters that the search chose for every method in every comparison.
type Settings struct {
	How     string            `json:"how"`
	Choices map[string]Choice `json:"choices"` // by Job.settingKey
}

// Choice is the setting that the search chose for one method in one comparison.
type Choice struct {
	Setting method.Setting `json:"setting"`
	Score   float64        `json:"score"` // mean accuracy on the validation sets, in percent
	Trial   int            `json:"trial"` // number of the setting in the file of trials
	Seeds   int            `json:"seeds"` // number of seeds on which the setting was tried
}

// ReadSettings reads settings from a file. If the file is missing, it returns empty settings.
func ReadSettings(path string) (*Settings, error) {
	s := &Settings{Choices: make(map[string]Choice)}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", path, err)
	}
	return s, nil
}

// Write writes the settings to a file with sorted keys.
func (s *Settings) Write(path string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// For returns the setting for a job.
func (s *Settings) For(j Job) (method.Setting, error) {
	key := j.settingKey()
	c, ok := s.Choices[key]
	if !ok {
		return nil, fmt.Errorf("experiment: no setting for %q: run the tuning first", key)
	}
	return c.Setting, nil
}

// Seeds returns the number of seeds with which the chosen setting was tried, or 0 if no search was made for the job.
func (s *Settings) Seeds(j Job) int { return s.Choices[j.settingKey()].Seeds }

func (s *Settings) made(r Result) bool {
	setting, err := s.For(r.Job)
	return err == nil && maps.Equal(setting, r.Setting)
}

// settingKey returns a key that is equal for jobs that share a setting. Each method has one setting per comparison and
// data set, regardless of the partition.
//
// Tables III and IV need several settings, because epsilon varies by a factor of eight and the number of clients by a
// factor of three. With 100 clients, each epsilon has its own setting. With epsilon 32, one setting serves 30 and 40
// clients, and another serves 50 and 75 clients. In these two tables, the centered estimator without further options
// uses the setting of the paper's form.
func (j Job) settingKey() string {
	name, where := j.Method, ""
	if j.Table == Sensitivity || j.Table == Validation {
		if name == Centered {
			name = PaperForm
		}
		where = fmt.Sprintf("/N=%d/epsilon=%v", tunedClients(j.Clients), j.Epsilon)
	}
	table := j.Table
	switch table {
	case Longer:
		table = EqualQueries
	case Validation:
		table = Sensitivity
	}
	return table + "/" + j.Dataset + where + "/" + name
}

// tunedClients returns the number of clients in the search that produced the setting for n clients.
func tunedClients(n int) int {
	switch {
	case n < 50:
		return 30
	case n < 100:
		return 50
	}
	return 100
}
