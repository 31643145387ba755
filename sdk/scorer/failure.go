package scorer

import "sync/atomic"

// failure keeps why the newest query that has no loss has none.
type failure struct{ newest atomic.Pointer[error] }

func (f *failure) note(err error) {
	if err != nil {
		f.newest.Store(&err)
	}
}

// LastFailure returns why the newest query that failed has no loss, and nil if none has failed. It speaks of a sample
// and may quote the program: it is for the device alone.
func (f *failure) LastFailure() error {
	if err := f.newest.Load(); err != nil {
		return *err
	}
	return nil
}
