package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

// requests holds the requests that wait for an answer. A broker does not answer a request that it does not permit, but
// reports the refusal apart from it, so that the request would wait until its time is over.
type requests struct {
	limit time.Duration // of each request

	mu      sync.Mutex
	waiting map[*request]bool
}

type request struct {
	subject string // part of the subject of each message of the request
	cancel  context.CancelCauseFunc
}

// begin returns a context for a request, which also ends when the connection ends (period), because no answer can arrive
// after that. The caller must pass the request's error to done, which returns the reason for this error.
func (r *requests) begin(ctx, period context.Context, subject string) (inner context.Context, done func(error) error) {
	limited, cancel := context.WithTimeout(ctx, r.limit)
	inner, refuse := context.WithCancelCause(limited)
	stop := context.AfterFunc(period, cancel)
	one := &request{subject, refuse}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = map[*request]bool{}
	}
	r.waiting[one] = true
	return inner, func(err error) error {
		r.mu.Lock()
		delete(r.waiting, one)
		r.mu.Unlock()
		switch cause := context.Cause(inner); {
		case err != nil && period.Err() != nil:
			err = fmt.Errorf("%w: %w", sealed.ErrEnded, err)
		case err != nil && errors.Is(cause, client.ErrPermissionViolation):
			err = cause
		case errors.Is(err, client.ErrNoResponders):
			err = fmt.Errorf("JetStream does not answer: the server has none, or it is not ready: %w", err)
		case err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			err = fmt.Errorf("the broker did not answer within %v", r.limit)
		}
		stop()
		refuse(nil)
		cancel()
		return err
	}
}

// refuse ends the requests that the broker does not permit according to err, an error that the client reports. It returns
// whether there are any.
func (r *requests) refuse(err error) (found bool) {
	if !errors.Is(err, client.ErrPermissionViolation) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for one := range r.waiting {
		// Without a subscription, no answer to any request can arrive.
		if strings.Contains(err.Error(), one.subject) || strings.Contains(err.Error(), "Subscription to") {
			one.cancel(err)
			found = true
		}
	}
	return found
}
