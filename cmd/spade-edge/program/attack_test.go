//go:build unix

package program

import (
	"context"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// times returns how often to try an attack: few times, or as often as an environment variable says.
func times(t *testing.T, variable string, few int) int {
	t.Helper()
	s := os.Getenv(variable)
	if s == "" {
		return few
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func newAttacked(t *testing.T, edges string, change func(f *sdk.Fleet)) *trial {
	t.Helper()
	return newTrial(t, edges, func(f *sdk.Fleet) {
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5}
		change(f)
	})
}

// insider is a member with its own key, inside the test process: a normal node whose frames all pass through change,
// and which records what its neighbors sign.
type insider struct {
	tr   *ws.Transport
	key  ed25519.PrivateKey
	file *fleetfile.File
	name string
	end  context.CancelFunc
	over chan struct{}
	err  error // of the node, once over is closed
	node *sdk.Node

	// change returns the frames to send to a neighbor instead of f: none, f, or others. mu is held during the call.
	change func(to string, f *admm.Message) []*admm.Message

	mu    sync.Mutex
	lied  int
	lives map[string]uint64                  // by neighbor, as sent when the neighbor started
	seen  map[string]map[int]map[string]bool // by neighbor, round and digest
	last  map[string]signed.Statement        // the latest that a neighbor signed
}

var (
	_ transport.Transport = (*insider)(nil)
	_ transport.Notifier  = (*insider)(nil)
)

// newMouth takes a member's place, with its key but without a node.
func (tr *trial) newMouth(t *testing.T, name string) (*insider, *fleetfile.Node) {
	t.Helper()
	self, err := fleetfile.ReadNode(tr.path(name + ".json"))
	if err != nil {
		t.Fatal(err)
	}
	file, key, err := self.Load()
	if err != nil {
		t.Fatal(err)
	}
	in := &insider{key: key, file: file, name: name, over: make(chan struct{}),
		lives: map[string]uint64{}, seen: map[string]map[int]map[string]bool{}, last: map[string]signed.Statement{}}
	if in.tr, err = ws.New(ws.ConfigOf(file, self.Name, key, self.Listen)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.tr.Close() })
	return in, self
}

// newInsider takes a member's place, with its files. memory says whether it has a state folder.
func (tr *trial) newInsider(t *testing.T, name string, memory bool, change func(in *insider, to string, f *admm.Message) []*admm.Message) *insider {
	t.Helper()
	in, self := tr.newMouth(t, name)
	file := in.file
	in.change = func(to string, f *admm.Message) []*admm.Message {
		if change == nil {
			return []*admm.Message{f}
		}
		return change(in, to, f)
	}
	own, err := self.Oracle.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sdk.Config{Fleet: file.Fleet, Name: name, Samples: own.Samples, Oracle: own.Oracle, Transport: in, Key: in.key, Keys: file.SigningKeys,
		ResendAfter: self.ResendAfter, Linger: 20 * time.Second}
	if memory {
		store, err := state.Open(self.State)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Store = store
		t.Cleanup(func() { store.Close() })
	}
	if in.node, err = sdk.New(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	in.end = sync.OnceFunc(func() {
		cancel()
		<-in.over
		in.tr.Close()
	})
	go func() {
		in.err = in.node.Run(ctx)
		close(in.over)
	}()
	t.Cleanup(in.end)
	return in
}

func (in *insider) scope(member string) signed.Scope {
	return signed.NewScope(in.file.Fleet.Run, in.file.Fleet.Hash(), member)
}

func (in *insider) Send(ctx context.Context, to string, frame []byte) error {
	if wire.IsHeartbeat(frame) {
		return in.tr.Send(ctx, to, frame)
	}
	var f admm.Message
	codec, err := wire.NewCodec(in.file.Fleet.Dim) // one per call: a node has one goroutine per neighbor
	if err == nil {
		err = codec.Decode(frame, &f)
	}
	if err != nil {
		return err
	}
	in.mu.Lock()
	frames := in.change(to, &f)
	in.mu.Unlock()
	for _, f := range frames {
		b, err := codec.Append(nil, f)
		if err != nil {
			return err
		}
		if err := in.tr.Send(ctx, to, b); err != nil {
			return err
		}
	}
	return nil
}

func (in *insider) Recv(ctx context.Context) (string, []byte, error) {
	from, frame, err := in.tr.Recv(ctx)
	var f admm.Message
	codec, bad := wire.NewCodec(in.file.Fleet.Dim)
	if err != nil || bad != nil || codec.Decode(frame, &f) != nil {
		return from, frame, err
	}
	if f.Kind == admm.Probe {
		in.mu.Lock()
		in.lives[from] = signed.PackDevice(f.Epoch, f.Incarnation)
		in.mu.Unlock()
	}
	if len(f.Signed.Own) > 0 {
		if r, err := signed.Parse(f.Signed.Own, signed.Release); err == nil && r.Verify(in.scope(from), in.file.SigningKeys(from)) == nil {
			in.note(from, r)
		}
	}
	return from, frame, err
}

func (in *insider) note(from string, r signed.Statement) {
	in.mu.Lock()
	defer in.mu.Unlock()
	rounds := in.seen[from]
	if rounds == nil {
		rounds = map[int]map[string]bool{}
		in.seen[from] = rounds
	}
	if rounds[r.Round] == nil {
		rounds[r.Round] = map[string]bool{}
	}
	rounds[r.Round][strconv.Itoa(int(r.Epoch))+string(r.Value[:])] = true
	if r.Round >= in.last[from].Round {
		in.last[from] = r
	}
}

func (in *insider) MaxFrame() int         { return in.tr.MaxFrame() }
func (in *insider) Close() error          { return nil }
func (in *insider) Opened() <-chan string { return in.tr.Opened() }

// sawOnce checks that a neighbor showed at most one release of each round. It returns the last round with a release.
func (in *insider) sawOnce(t *testing.T, neighbor string) (last int) {
	t.Helper()
	in.mu.Lock()
	defer in.mu.Unlock()
	for round, digests := range in.seen[neighbor] {
		if len(digests) > 1 {
			t.Errorf("%q has seen %d releases of round %d of %q", in.name, len(digests), round, neighbor)
		}
		last = max(last, round)
	}
	return last
}

func (in *insider) await(t *testing.T, neighbor string, round int) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Millisecond) {
		in.mu.Lock()
		newest := in.last[neighbor].Round
		in.mu.Unlock()
		if newest >= round {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q has not made release %d", neighbor, round)
		}
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error if it has ended
	<-p.over
}

// refused waits for the end of a process that must not run: it checks the exit code, the words of the last line, and
// that there is neither learning nor a result.
func (p *process) refused(t *testing.T, code int, words ...string) {
	t.Helper()
	p.wait(t, code)
	p.log.await(t, append([]string{"spade-edge run: "}, words...)...)
	if p.out.Len() != 0 {
		t.Errorf("output %q", &p.out)
	}
}

// takeOver makes files and folders of one folder equal to those of another: it copies those that exist and removes the
// others.
func takeOver(t *testing.T, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(to, name)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue
		}
		if err == nil && info.IsDir() {
			_ = os.Remove(filepath.Join(from, name, "control")) // a remaining socket
			copyAll(t, filepath.Join(from, name), filepath.Join(to, name))
		} else if err == nil {
			var text []byte
			if text, err = os.ReadFile(filepath.Join(from, name)); err == nil {
				if err = os.MkdirAll(to, 0o700); err == nil {
					err = os.WriteFile(filepath.Join(to, name), text, 0o600)
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// keeps lists the files in which a node remembers itself.
func keeps(name string) []string {
	return []string{name + ".state", name + ".ledger", name + ".ledger.mark"}
}

func (tr *trial) spends(t *testing.T, member string) map[string][]dpmech.Spend {
	t.Helper()
	ledger, err := state.ReadLedger(tr.path(member + ".ledger"))
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	all := map[string][]dpmech.Spend{}
	for _, run := range ledger.Lifetime(1e-5).Runs {
		all[run.Run] = slices.Clone(run.Spends)
	}
	return all
}

func (p *process) made(round int) bool {
	return strings.Contains(p.log.String(), "round "+strconv.Itoa(round)+" of ")
}
