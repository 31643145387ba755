package sdk_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

// journal is a log that can be read while it is being written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// endsAt returns a context that ends when the journal contains the text want.
func (j *journal) endsAt(t *testing.T, want string) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	go func() {
		for ; !strings.Contains(j.String(), want) && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		}
		cancel()
	}()
	return ctx
}
