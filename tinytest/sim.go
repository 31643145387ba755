package tinytest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Client is one member of a simulated network. Its number, Config.Estimator.Client, must be its place in the list.
type Client struct {
	Config admm.Config
	Oracle zoest.Oracle
}

// Sim is a network of machines that go through the rounds in step: every client makes its release k, then all messages of
// round k are delivered, in the order in which they were sent. It is not safe for concurrent use.
type Sim struct {
	// OnSend, if not nil, sees every message when it is sent. The vector is valid during the call.
	OnSend func(admm.Message)

	machines []*admm.Machine
	oracles  []zoest.Oracle
	queue    []admm.Message
	losses   []float64 // room for the answers to one window of queries
	round    int
	last     int
	hash     hash.Hash
}

// NewSim returns a simulation at the start of round 0. It refuses a network whose clients do not agree on the number of
// rounds, or on who is whose neighbor.
func NewSim(clients []Client) (*Sim, error) {
	if len(clients) == 0 {
		return nil, errors.New("tinytest: no clients")
	}
	s := &Sim{hash: sha256.New(), last: clients[0].Config.Rounds + clients[0].Config.Cooldown}
	adjacent := make(map[[2]int]bool)
	for i, c := range clients {
		if int(c.Config.Estimator.Client) != i {
			return nil, fmt.Errorf("tinytest: client %d has number %d, want its place in the list", i, c.Config.Estimator.Client)
		}
		if last := c.Config.Rounds + c.Config.Cooldown; last != s.last {
			return nil, fmt.Errorf("tinytest: client %d makes %d rounds, client 0 makes %d", i, last, s.last)
		}
		for _, j := range c.Config.Neighbors {
			if j < 0 || j >= len(clients) {
				return nil, fmt.Errorf("tinytest: client %d has neighbor %d, want 0..%d", i, j, len(clients)-1)
			}
			adjacent[[2]int{i, j}] = true
		}
	}
	for i, c := range clients {
		for _, j := range c.Config.Neighbors {
			if !adjacent[[2]int{j, i}] {
				return nil, fmt.Errorf("tinytest: %d is a neighbor of client %d, but not the other way round", j, i)
			}
		}
		m, err := admm.New(c.Config)
		if err != nil {
			return nil, fmt.Errorf("tinytest: client %d: %w", i, err)
		}
		s.machines = append(s.machines, m)
		s.oracles = append(s.oracles, c.Oracle)
		s.losses = slices.Grow(s.losses, max(1, c.Config.Estimator.Window))
	}
	return s, nil
}

// Run goes through all rounds that are left and calls each, if not nil, after every one of them; an error from each ends the
// run.
func (s *Sim) Run(ctx context.Context, each func(round int) error) error {
	for s.round < s.last {
		if err := s.Step(ctx); err != nil {
			return err
		}
		if each != nil {
			if err := each(s.round); err != nil {
				return err
			}
		}
	}
	return nil
}

// Step takes every client through one round. It must not be called again after an error, or after the last round.
func (s *Sim) Step(ctx context.Context) error {
	if s.round == s.last {
		return fmt.Errorf("tinytest: all %d rounds are over", s.last)
	}
	// What was sent in the round before arrives. A cool-down round asks no questions: its release is made on arrival.
	arriving := s.queue
	s.queue = nil
	for _, msg := range arriving {
		if err := s.machines[msg.To].Receive(msg); err != nil {
			return err
		}
	}
	s.round++
	for i, m := range s.machines {
		if err := s.drive(ctx, i, m); err != nil {
			return err
		}
	}
	s.record()
	return nil
}

// drive answers a client's queries until it has made its release.
func (s *Sim) drive(ctx context.Context, i int, m *admm.Machine) error {
	for {
		r, err := m.Ready()
		if err != nil {
			return err
		}
		for _, msg := range r.Send {
			if msg.Done {
				continue // nobody leaves a simulation
			}
			if s.OnSend != nil {
				s.OnSend(msg)
			}
			s.queue = append(s.queue, msg)
		}
		if r.Released > 0 {
			return nil
		}
		if r.Reserve > 0 {
			continue // nobody's budget is at stake
		}
		if len(r.Queries) == 0 {
			return fmt.Errorf("tinytest: client %d stands still before release %d", i, s.round)
		}
		losses := s.losses[:len(r.Queries)]
		err = zoest.Ask(ctx, s.oracles[i], r.Queries, losses, 0)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if refused := m.Answer(losses...); refused != nil {
			return errors.Join(refused, err)
		}
	}
}

// record adds the releases of the round to the transcript.
func (s *Sim) record() {
	buf := make([]byte, 0, 64)
	for i := range s.machines {
		buf = AppendRelease(buf[:0], s.round, i, s.machines[i].Model())
		s.hash.Write(buf)
	}
}

// AppendRelease appends one entry of a transcript: round and client as 64-bit little-endian integers, then the released
// model as float32, little endian.
func AppendRelease(dst []byte, round, client int, x []float32) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(round))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(client))
	for _, v := range x {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

// Transcript returns the SHA-256, in hex, of all releases so far: in order of round, then client, in the form of
// [AppendRelease].
func (s *Sim) Transcript() string { return hex.EncodeToString(s.hash.Sum(nil)) }

// Round returns how many rounds are over.
func (s *Sim) Round() int { return s.round }

// Models returns a copy of every client's released model.
func (s *Sim) Models() [][]float32 {
	x := make([][]float32, len(s.machines))
	for i, m := range s.machines {
		x[i] = m.Model()
	}
	return x
}

// Averages returns a copy of every client's mean of all its releases; nil for one without Config.Average.
func (s *Sim) Averages() [][]float32 {
	x := make([][]float32, len(s.machines))
	for i, m := range s.machines {
		x[i] = m.Averaged()
	}
	return x
}

// Queries returns how many losses all clients have asked for, and how many of these could not be had.
func (s *Sim) Queries() (asked, failed int64) {
	for _, m := range s.machines {
		st := m.Status()
		asked += st.Queries
		failed += st.Failed
	}
	return asked, failed
}
