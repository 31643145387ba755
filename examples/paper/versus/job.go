package versus

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

// meta describes the job: the Alzheimer's data, dealt to 31 clients on a random graph, and the settings of both
// programs. Gain is tau*eta*mu*beta; rho is 1.
type meta struct {
	Dim     int      `json:"dim"`
	Samples []int    `json:"samples"` // of each client
	Edges   [][2]int `json:"edges"`
	Rounds  int      `json:"rounds"` // at most
	Tau     int      `json:"tau"`
	Eta     float64  `json:"eta"`
	Mu      float64  `json:"mu"`
	Gain    float64  `json:"gain"`
	Goal    float64  `json:"goal"` // percent, mean of the clients' models on the test set
}

const (
	clients   = 31
	tau       = 8 // as in the paper
	goal      = 82
	network   = "er:0.3"
	partition = "dirichlet:0.3"
	share     = 0.75 // gain, as a share of the stability limit
)

func prepare(dataDir, folder string) error {
	source, err := data.Load("alzheimers", dataDir)
	if err != nil {
		return err
	}
	split, err := source.Split(1, 0, false)
	if err != nil {
		return err
	}
	p, err := task.ParsePartition(partition)
	if err != nil {
		return err
	}
	parts, err := p.Assign(split.Train.Y, split.Train.Classes, clients, 1)
	if err != nil {
		return err
	}
	g, err := topology.Parse(network, clients, 1)
	if err != nil {
		return err
	}
	m := meta{Dim: split.Train.Dim, Edges: g.Edges(), Rounds: 200, Tau: tau, Gain: g.Gain(share, 1), Goal: goal}
	var order []int
	for _, part := range parts {
		m.Samples, order = append(m.Samples, len(part)), append(order, part...)
	}
	method, _, err := plan.Suggest(plan.Known{Dim: m.Dim, Samples: m.Samples, Method: sdk.Method{Tau: tau},
		Privacy: sdk.Privacy{NonPrivate: true}})
	if err != nil {
		return err
	}
	m.Eta, m.Mu = method.Eta[0], method.Mu[0]
	text, err := json.Marshal(m)
	return errors.Join(err, os.WriteFile(filepath.Join(folder, "meta.json"), text, 0o600),
		writeData(folder, "train", split.Train.Select(order)), writeData(folder, "test", split.Test))
}

func writeData(folder, part string, d *task.Data) error {
	var x bytes.Buffer
	err := binary.Write(&x, binary.LittleEndian, d.X)
	y := make([]byte, len(d.Y))
	for i, class := range d.Y {
		y[i] = byte(class)
	}
	return errors.Join(err, os.WriteFile(filepath.Join(folder, part+".f32"), x.Bytes(), 0o600),
		os.WriteFile(filepath.Join(folder, part+".u8"), y, 0o600))
}

func readData(folder, part string, dim int) (*task.Data, error) {
	x, errX := os.ReadFile(filepath.Join(folder, part+".f32"))
	y, errY := os.ReadFile(filepath.Join(folder, part+".u8"))
	if err := errors.Join(errX, errY); err != nil {
		return nil, err
	}
	d := &task.Data{X: make([]float32, len(x)/4), Y: make([]int, len(y)), Dim: dim, Classes: 2}
	if len(d.X) != len(y)*dim {
		return nil, fmt.Errorf("versus: %s has %d numbers and %d labels, want %d numbers for each label",
			part, len(d.X), len(y), dim)
	}
	for i, class := range y {
		d.Y[i] = int(class)
	}
	return d, binary.Read(bytes.NewReader(x), binary.LittleEndian, d.X)
}

// read returns what prepare wrote: the job, the samples of each client, and the model for scoring the test samples.
func read(folder string) (m meta, own []*task.Data, test *task.Model, err error) {
	text, err := os.ReadFile(filepath.Join(folder, "meta.json"))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return m, nil, nil, err
	}
	train, errA := readData(folder, "train", m.Dim)
	held, errB := readData(folder, "test", m.Dim)
	if err := errors.Join(errA, errB); err != nil {
		return m, nil, nil, err
	}
	at := 0
	for _, n := range m.Samples {
		idx := make([]int, n)
		for i := range idx {
			idx[i] = at + i
		}
		at += n
		own = append(own, train.Select(idx))
	}
	return m, own, task.NewSoftmax(held), nil
}

// figure holds what a program reports about its run.
type figure struct {
	Seconds  float64 `json:"seconds"` // of the rounds, without scoring
	Rounds   int     `json:"rounds"`
	Accuracy float64 `json:"accuracy"`
	MB       float64 `json:"mb"`    // peak memory of the process
	Bytes    int64   `json:"bytes"` // sent by all clients
	wall     float64 // seconds of the whole process
}
