package monitor

import "github.com/spade-dfl/spade-edge/sdk"

// Both returns events that call the functions of e, and then those of more.
func Both(e, more sdk.Events) sdk.Events {
	return sdk.Events{
		Began: both(e.Began, more.Began), Released: both2(e.Released, more.Released), Waiting: both2(e.Waiting, more.Waiting),
		Connected: both(e.Connected, more.Connected), Silent: both3(e.Silent, more.Silent), Dropped: both(e.Dropped, more.Dropped),
		Refused: both2(e.Refused, more.Refused), Failed: both(e.Failed, more.Failed), Done: both(e.Done, more.Done),
	}
}

func both[A any](f, g func(A)) func(A) {
	if f == nil {
		return g
	} else if g == nil {
		return f
	}
	return func(a A) { f(a); g(a) }
}

func both2[A, B any](f, g func(A, B)) func(A, B) {
	if f == nil {
		return g
	} else if g == nil {
		return f
	}
	return func(a A, b B) { f(a, b); g(a, b) }
}

func both3[A, B, C any](f, g func(A, B, C)) func(A, B, C) {
	if f == nil {
		return g
	} else if g == nil {
		return f
	}
	return func(a A, b B, c C) { f(a, b, c); g(a, b, c) }
}
