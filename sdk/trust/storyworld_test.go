package trust_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// world is a fleet whose members make their releases in lockstep. A random set of members is malicious (bad).
type world struct {
	t       testing.TB
	rnd     *rand.Rand
	g       *graph.Graph
	names   []string
	logs    []*trust.Log
	bad     []bool
	cut     map[[2]int]bool // dropped edges, the lower member first
	split   int             // the release from which malicious members equivocate; 0 for never
	queue   []parcel
	proof   []map[int]bool // by member: the members against which it has evidence
	asked   int
	behind  bool            // a question takes one round to cross an edge
	stories []map[bool]last // of each malicious member: the last statement of each of its two chains
}

type parcel struct {
	from, to int
	m        *admm.Message
}

type last struct{ statement signed.Statement }

var worldFleet = [32]byte{7}

// worldKey returns the key of a member. It caches keys, because a world needs a key for each message.
func worldKey(name string) ed25519.PrivateKey {
	key, known := worldKeys.Load(name)
	if !known {
		key, _ = worldKeys.LoadOrStore(name, ed25519.NewKeyFromSeed(append(make([]byte, ed25519.SeedSize-len(name)), name...)))
	}
	return key.(ed25519.PrivateKey)
}

var worldKeys sync.Map

func newWorld(t testing.TB, seed uint64, g *graph.Graph, bad int) *world {
	w := &world{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), g: g, cut: map[[2]int]bool{}, bad: make([]bool, g.N())}
	for i := range g.N() {
		w.names = append(w.names, fmt.Sprintf("m%d", i))
		w.proof = append(w.proof, map[int]bool{})
		w.stories = append(w.stories, map[bool]last{})
	}
	for i := range g.N() {
		w.logs = append(w.logs, w.device(i))
	}
	for _, i := range w.rnd.Perm(g.N())[:bad] {
		w.bad[i] = true
	}
	return w
}

// device returns the log of a member that has just started.
func (w *world) device(i int) *trust.Log {
	l := trust.NewLog("worlds", worldFleet, w.names, i, w.g.Neighbors(i))
	l.Key = worldKey(w.names[i])
	l.Keys = func(name string) []ed25519.PublicKey {
		return []ed25519.PublicKey{worldKey(name).Public().(ed25519.PublicKey)}
	}
	l.Compare()
	for of := range w.proof[i] {
		l.Gossip.Convict(of, admm.MaxTakeovers)
	}
	return l
}

func (w *world) open(i, j int) bool { return !w.cut[[2]int{min(i, j), max(i, j)}] }

// hops returns the distance between two honest members over open edges between honest members, or -1 if there is no
// path.
func (w *world) hops(a, b int) int {
	away := make([]int, w.g.N())
	away[a] = 1
	for queue := []int{a}; len(queue) > 0; queue = queue[1:] {
		for _, j := range w.g.Neighbors(queue[0]) {
			if away[j] == 0 && !w.bad[j] && w.open(queue[0], j) {
				away[j] = away[queue[0]] + 1
				queue = append(queue, j)
			}
		}
	}
	return away[b] - 1
}

// second reports whether a neighbor gets the second of a malicious member's two chains of releases.
func (w *world) second(i, to int) bool { return (i*31+to*17)%3 == 1 }

// say queues questions for all neighbors.
func (w *world) say(from int, list []trust.Question) {
	w.asked += len(list)
	for i := range list {
		for _, j := range w.g.Neighbors(from) {
			if w.open(from, j) {
				w.queue = append(w.queue, parcel{from, j, list[i].Message()})
			}
		}
	}
}

// learn processes evidence, which the node sends to all neighbors.
func (w *world) learn(at int, e *signed.Evidence) {
	of := slices.Index(w.names, e.Member)
	if !w.bad[of] {
		w.t.Fatalf("evidence against member %d, which is honest: %+v", of, e)
	}
	if err := e.Verify("worlds", worldFleet, w.logs[at].Keys(e.Member)); err != nil {
		w.t.Fatal(err)
	}
	if !w.logs[at].Gossip.Convict(of, e.First.Epoch) {
		return
	}
	w.proof[at][of] = true
	for _, j := range w.g.Neighbors(at) {
		if w.open(at, j) && j != of {
			w.queue = append(w.queue, parcel{at, j, &admm.Message{Kind: admm.Conflict, Round: e.Round, Signed: admm.Signed{
				Proof: e.First.Append(nil), Other: e.Second.Append(nil), Digests: trust.About(of, e.First.Epoch)}}})
		}
	}
}

// deliver delivers the queued messages. If w.behind is true, it delivers only the messages that were queued before the
// call.
func (w *world) deliver() {
	for left := len(w.queue); len(w.queue) > 0 && (left > 0 || !w.behind); left-- {
		p := w.queue[0]
		w.queue = w.queue[1:]
		if w.bad[p.to] { // a malicious member does not answer, and may ask anything
			continue
		}
		p.m.From = p.from
		l := w.logs[p.to]
		if p.m.Kind == admm.Conflict {
			if of, e, err := l.Double(p.m); err != nil {
				w.t.Fatal(err)
			} else if of >= 0 {
				w.learn(p.to, &e)
			}
			continue
		}
		send, double, err := l.Gossip.Question(p.m)
		if err != nil && !w.bad[p.from] {
			w.t.Fatalf("a question of an honest member: %v", err)
		}
		w.say(p.to, send)
		if double != nil {
			w.learn(p.to, double)
		}
	}
}

// release returns the message that a member sends to a neighbor in a round. The member's log has signed the release.
func (w *world) release(i, to, round int, x []float32) *admm.Message {
	l := w.logs[i]
	m := &admm.Message{Kind: admm.Release, From: i, To: to, Round: round, Vector: x}
	l.Attach(m)
	if !w.bad[i] {
		return m
	}
	if w.split > 0 && round >= w.split {
		other := w.second(i, to)
		told := w.stories[i][other]
		if told.statement.Round != round {
			st := *l.Own.Of(round)
			if told.statement.Round == round-1 {
				st.Prev = told.statement.ID(l.Scope)
			}
			if other {
				st.Value = signed.Digest([]float32{-x[0]}, nil)
			}
			st.Sign(l.Key, l.Scope)
			told.statement = st
			w.stories[i][other] = told
		}
		if other {
			m.Vector = []float32{-x[0]}
		}
		m.Signed.Own = told.statement.Append(nil)
	}
	m.Signed.Digests = w.lies(i, round, m.Signed.Digests)
	return m
}

// lies changes some digests and adds invented digests for random members, epochs and rounds.
func (w *world) lies(i, round int, list []byte) []byte {
	list = bytes.Clone(list)
	for b := range slices.Chunk(list, trust.DigestSize) {
		if w.rnd.IntN(3) == 0 {
			b[4+w.rnd.IntN(12)]++
		}
	}
	for range w.rnd.IntN(2 * len(w.names)) {
		at := uint16(w.rnd.IntN(admm.MaxTakeovers+1))<<14 | uint16(1+w.rnd.IntN(round))
		if round-int(at&(1<<14-1)) < 1 {
			continue
		}
		list = binary.BigEndian.AppendUint16(list, uint16(w.rnd.IntN(len(w.names))))
		list = append(binary.BigEndian.AppendUint16(list, at), make([]byte, 12)...)
		binary.BigEndian.PutUint64(list[len(list)-8:], w.rnd.Uint64N(2))
	}
	return list[:min(len(list), signed.MaxDigests)]
}

// round runs all members through one release. With churn, honest members lose edges, devices and memory.
func (w *world) round(round int, churn bool) {
	for i, l := range w.logs {
		var used []*trust.Used
		for _, j := range w.g.Neighbors(i) {
			if u := l.Peers[j].Taken(round - 1); u != nil && w.open(i, j) && !w.proof[i][j] {
				used = append(used, u)
			}
		}
		found := l.Gossip.Begin(round, used)
		if w.bad[i] {
			for range w.rnd.IntN(3) { // a question without a reason
				q := trust.Question{Slot: trust.Slot{Member: w.rnd.IntN(len(w.names)), Round: 1 + w.rnd.IntN(round)}}
				if forged := (signed.Statement{Kind: signed.Release, Round: q.Round, Value: [32]byte{1}}); q.Member != i && w.rnd.IntN(3) == 0 {
					forged.Sign(l.Key, signed.NewScope("worlds", worldFleet, w.names[q.Member]))
					q.Statement = &forged
				}
				w.say(i, []trust.Question{q})
			}
			continue
		}
		w.say(i, found.Ask)
		for k := range found.Doubles {
			w.learn(i, &found.Doubles[k])
		}
	}
	w.deliver()
	for i, l := range w.logs {
		x := []float32{w.rnd.Float32() + 1}
		if err := l.Sign(&admm.State{Round: round, X: x}); err != nil {
			w.t.Fatal(err)
		}
		for _, j := range w.g.Neighbors(i) {
			if w.open(i, j) && !w.proof[j][i] {
				m := w.release(i, j, round, x)
				m.From = i
				if _, err := w.logs[j].Release(w.logs[j].Peers[i], m); err != nil {
					if !w.bad[i] {
						w.t.Fatalf("a release of an honest member: %v", err)
					}
					continue
				}
				w.logs[j].Peers[i].Take(m)
			}
		}
	}
	if !churn {
		return
	}
	switch i := w.rnd.IntN(len(w.logs)); {
	case w.bad[i]:
	case w.rnd.IntN(4) == 0:
		if list := w.g.Neighbors(i); len(list) > 0 {
			j := list[w.rnd.IntN(len(list))]
			w.cut[[2]int{min(i, j), max(i, j)}] = true
		}
	case w.rnd.IntN(3) == 0: // replace the device after this release, without the memory of the lost device
		if epoch := w.logs[i].Epoch + 1; epoch <= admm.MaxTakeovers {
			w.logs[i] = w.device(i)
			w.logs[i].Epoch = epoch
		}
	case w.rnd.IntN(2) == 0: // restart: its own chain and its held statements are stored, the rest is not
		old := w.logs[i]
		w.logs[i] = w.device(i)
		w.logs[i].Own, w.logs[i].Epoch = old.Own, old.Epoch
		for j, p := range old.Peers {
			w.logs[i].Peers[j].Held = p.Held
		}
	}
}

// graphOf returns the graph for a world's seed. It has 5 to 12 members.
func graphOf(t testing.TB, seed uint64) (*graph.Graph, string) {
	n := 5 + int(seed/4%8)
	var g *graph.Graph
	var err error
	name := []string{"complete", "ring with chords", "er:0.5", "grid"}[seed%4]
	switch name {
	case "ring with chords":
		var edges [][2]int
		for i := range n {
			edges = append(edges, [2]int{i, (i + 1) % n})
		}
		for i := 0; i+3 < n; i += 4 {
			edges = append(edges, [2]int{i, i + 3})
		}
		g, err = graph.New(n, edges)
	case "grid":
		name = fmt.Sprintf("grid:%dx3", n/3+1)
		g, err = graph.Parse(name, (n/3+1)*3, seed)
	default:
		g, err = graph.Parse(name, n, seed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g, name
}

// worldsWanted returns the first seed and the number of worlds to run.
func worldsWanted(t *testing.T, usual int) (first, count int) {
	count = usual
	for name, to := range map[string]*int{"SPADE_STORIES": &count, "SPADE_STORY_SEED": &first} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			*to = n
		}
	}
	return first, count
}
