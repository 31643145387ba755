package sdk_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
)

// TestKeysOrNone checks that a member with keys and a member without keys cannot finish a run, because the first
// refuses the unsigned messages of the second. New must refuse an invalid key, and a configuration with only one of Key
// and Keys.
func TestKeysOrNone(t *testing.T) {
	t.Parallel()
	f := only(2, privateRing())
	log := new(journal)
	all := nodes(t, f, inMemory(t, f), func(i int, c *sdk.Config) {
		if i == 1 {
			c.Key, c.Keys = nil, nil
		} else {
			c.Logger = slog.New(slog.NewTextHandler(log, nil))
		}
	})
	for i, err := range runAll(log.endsAt(t, `release 1 is not signed, want the signature of \"b\"`), all) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("node %d: %v\n%s", i, err, log)
		}
	}
	for _, c := range []struct {
		change func(c *sdk.Config)
		want   string
	}{
		{func(c *sdk.Config) { c.Keys = nil }, "only one of Key and Keys is set, want both or neither"},
		{func(c *sdk.Config) { c.Key = nil }, "only one of Key and Keys is set, want both or neither"},
		{func(c *sdk.Config) { c.Key = c.Key[:10] }, "Key has 10 bytes, want 64"},
		{func(c *sdk.Config) { c.Key = memberKey("b") }, `Keys has 1 keys for "a", but Key matches none of them`},
	} {
		cfg := sdk.Config{Fleet: f, Name: "a", Samples: 7, Oracle: oracle(0), Transport: inMemory(t, f)[0]}
		sign(&cfg)
		c.change(&cfg)
		if _, err := sdk.New(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want it to say %s", err, c.want)
		}
	}
}
