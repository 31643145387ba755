package pair

import (
	"crypto/ecdh"
	"fmt"
	"sync"
)

// Memory is a [Keys] that is lost when the process ends: for members without a disk, and for tests.
type Memory struct {
	mu   sync.Mutex
	keys map[Public]*memoryKey
}

type memoryKey struct {
	private *ecdh.PrivateKey // nil once deleted
	fleet   [32]byte
	bound   bool
}

// Add makes a key and returns its public half.
func (m *Memory) Add() (Public, error) {
	private, err := NewPrivate()
	if err != nil {
		return Public{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys == nil {
		m.keys = map[Public]*memoryKey{}
	}
	m.keys[PublicOf(private)] = &memoryKey{private: private}
	return PublicOf(private), nil
}

// with calls f with a key that belongs to no other run.
func (m *Memory) with(public Public, fleet [32]byte, f func(k *memoryKey)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.keys[public]
	switch {
	case k == nil:
		return fmt.Errorf("pair: %v: %w", public, ErrMissing)
	case k.bound && k.fleet != fleet:
		return fmt.Errorf("pair: %v: %w", public, ErrUsed)
	}
	f(k)
	return nil
}

// Find implements [Keys].
func (m *Memory) Find(public Public, fleet [32]byte) (private *ecdh.PrivateKey, err error) {
	err = m.with(public, fleet, func(k *memoryKey) { private = k.private })
	return private, err
}

// Bind implements [Keys].
func (m *Memory) Bind(public Public, fleet [32]byte) error {
	return m.with(public, fleet, func(k *memoryKey) { k.fleet, k.bound = fleet, true })
}

// Delete implements [Keys].
func (m *Memory) Delete(public Public, fleet [32]byte) error {
	return m.with(public, fleet, func(k *memoryKey) { *k = memoryKey{nil, fleet, true} })
}
