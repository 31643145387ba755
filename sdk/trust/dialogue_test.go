package trust_test

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/internal/dialogue"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

var update = flag.Bool("update", false, "write testdata/*.txt anew")

// TestDialogues holds the dialogues in testdata/*.txt with the machine of member a, whose neighbors are b and c. A step is
// one line, then "----", then what the machine answers, up to an empty line. A line before a step that begins with # is a
// comment.
//
// A statement is written as MEMBER:ROUND. Its content is the number of the round, or follows "="; "<" gives the content of
// the release before it, if that differs, "@" the key that signed it, and "%" the line of a ledger in it, LEDGER#LINE. So
// a:2=7 is another release 2 of a, and b:3@c is a release 3 of b that c has signed.
//
//	start [without keys] [retired] [ledger]   a new machine, perhaps with retired keys old-a to old-c, or with a ledger
//	restart                                   the machine of the next process
//	release ROUND                             a makes, stores and marks a release
//	MEMBER KIND ROUND [key=value ...]         a message arrives: see the method message
//	impossible MEMBER ROUND [arrival]         the machine of package admm has found a release impossible
//	lose MEMBER                               the driver gives up on a neighbor
//	attach KIND MEMBER ROUND [held=N]         what a adds to a message
//	remember MEMBER LEDGER#LINE               a neighbor has signed that in an earlier run
//	tick, reach MEMBER                        time has passed, a connection has opened
//	disk fails, disk works                    the journal can or cannot be stored
//	public                                    what status and certificate show
func TestDialogues(t *testing.T) {
	if files, err := filepath.Glob("testdata/*.txt"); err != nil || len(files) < 6 {
		t.Fatalf("found %v, %v, want at least 6 dialogues", files, err)
	}
	dialogue.Run(t, "testdata/*.txt", *update, func(t *testing.T, out *dialogue.Lines) func([]string) {
		d := &world{t: t, Lines: out, names: map[string]string{}}
		return d.do
	})
}

const run = "trial-7"

var (
	fleet   = [32]byte{1}
	members = []string{"a", "b", "c"}
)

func key(name string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, name)
	return ed25519.NewKeyFromSeed(seed)
}

// world is the world around a machine.
type world struct {
	t *testing.T
	*dialogue.Lines
	m      *trust.Machine
	cfg    trust.Config
	names  map[string]string // statements by their bytes
	made   int
	snap   wire.Snapshot // of the last release
	broken bool          // the journal cannot be stored
	dir    string
}

func (d *world) do(words []string) {
	args := map[string]string{}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		args[k] = v
	}
	number := func(i int) int {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			d.t.Fatalf("%q: %v", words, err)
		}
		return n
	}
	switch words[0] {
	case "start":
		d.start(args)
	case "restart":
		journal := d.m.Journal
		d.m = trust.New(d.cfg)
		d.obey("", d.m.Load(journal))
		if err := d.m.Resume(&d.snap); d.made > 0 && err != nil {
			d.Say("error: %v", err)
		}
		for _, q := range journal.Quarantine {
			d.m.Drop(slices.Index(members, q.Neighbor), q, 0)
		}
	case "release":
		d.release(number(1), cmp.Or(args["value"], words[1]))
	case "impossible":
		if _, arrival := args["arrival"]; arrival {
			d.obey(words[1], d.m.Taken(trust.Verdict{}, fmt.Errorf("it moves by a mile: %w", admm.ErrImpossible)))
			break
		}
		found := &admm.Verdict{Message: admm.Message{From: slices.Index(members, words[1]), Round: number(2)}}
		d.m.Prove(found)
		d.Say("proof of %d bytes", len(found.Signed.Own))
		d.drop(words[1], "it moves by a mile")
	case "lose":
		d.drop(words[1], "no message arrived")
	case "attach":
		msg := d.message(words[1], words[2], words[3], args)
		msg.To, msg.From = msg.From, msg.To
		msg.Signed = admm.Signed{}
		d.m.Attach(msg)
		d.shows(msg)
	case "remember":
		e := d.ledger(words[1], words[2])
		if err := d.cfg.Ledger.Heads().Learn(d.cfg.Keys(words[1]), e); err != nil {
			d.Say("error: %v", err)
		}
	case "disk":
		d.broken = words[1] == "fails"
	case "tick":
		d.store()
		d.sends(d.m.Tick())
	case "reach":
		d.store()
		d.sends(d.m.Reached(slices.Index(members, words[1])))
	case "public":
		p := d.m.Public
		d.Say("release %s, countersigned by %d, evidence %d, other ledgers %d", d.name(encode(p.Head)), len(p.Countersigned),
			len(p.Evidence), len(p.Ledgers))
	default:
		d.obey(words[0], d.m.Receive(d.message(words[1], words[0], words[2], args)))
	}
}

func (d *world) start(args map[string]string) {
	d.dir = d.t.TempDir()
	d.cfg = trust.Config{Run: run, Fleet: fleet, Members: members, Neighbors: []int{1, 2}, Last: 9, Key: key("a")}
	d.cfg.Keys = func(member string) []ed25519.PublicKey {
		keys := []ed25519.PublicKey{key(member).Public().(ed25519.PublicKey)}
		if _, retired := args["retired"]; retired {
			keys = append(keys, key("old-"+member).Public().(ed25519.PublicKey))
		}
		return keys
	}
	var err error
	if _, without := args["without"]; without {
		d.cfg.Key, d.cfg.Keys = nil, nil
	}
	if _, has := args["ledger"]; has {
		if d.cfg.Ledger, err = state.CreateLedger(filepath.Join(d.dir, "ledger"), "samples", dpmech.Client, nil, state.NeverUsed); err != nil {
			d.t.Fatal(err)
		}
		d.t.Cleanup(func() { _ = d.cfg.Ledger.Close() })
	}
	d.m, d.made = trust.New(d.cfg), 0
}

func (d *world) release(round int, value string) {
	x, err := strconv.ParseFloat(value, 32)
	if err != nil {
		d.t.Fatal(err)
	}
	d.made = round
	s := admm.State{Round: round, X: []float32{float32(x)}, Edges: []admm.EdgeState{{Peer: 1}, {Peer: 2}}}
	if err := d.m.Released(&s); err != nil {
		d.Say("error: %v", err)
	}
	d.snap = wire.Snapshot{State: s, Peers: make([]wire.Peer, 2)}
	d.m.Record(&d.snap)
	d.m.Disclose()
	d.statement(fmt.Sprintf("a:%d=%s", round, value))
}

// statement returns a release in the notation of [TestDialogues].
func (d *world) statement(name string) signed.Statement {
	text, ledger, _ := strings.Cut(name, "%")
	text, signer, _ := strings.Cut(text, "@")
	text, before, _ := strings.Cut(text, "<")
	text, value, _ := strings.Cut(text, "=")
	member, rounds, _ := strings.Cut(text, ":")
	round, err := strconv.Atoi(rounds)
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	x, err := strconv.ParseFloat(cmp.Or(value, rounds), 32)
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	scope := signed.NewScope(run, fleet, member)
	s := signed.Statement{Kind: signed.Release, Round: round, Value: signed.Digest([]float32{float32(x)}, nil)}
	if round > 1 {
		prev := d.statement(fmt.Sprintf("%s:%d=%s", member, round-1, cmp.Or(before, strconv.Itoa(round-1))))
		s.Prev = prev.ID(scope)
	}
	if ledger != "" {
		s.Ledger = d.head(ledger)
	}
	s.Sign(key(cmp.Or(signer, member)), scope)
	d.names[string(s.Append(nil))] = strings.ReplaceAll(name, "="+rounds, "")
	return s
}

// head returns the state of a ledger: LEDGER#SEQ, where "own" is the ledger of the machine.
func (d *world) head(name string) signed.Head {
	ledger, seq, _ := strings.Cut(name, "#")
	h := signed.Head{Hash: [32]byte{1}}
	copy(h.ID[:], ledger)
	if ledger == "own" {
		h, _ = signed.NewHead(d.cfg.Ledger.Head())
	}
	n, err := strconv.ParseUint(seq, 10, 32)
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	h.Seq = n
	return h
}

// ledger returns what a member has signed about a ledger in an earlier run.
func (d *world) ledger(member, name string) signed.Earlier {
	e := signed.Earlier{Scope: signed.NewScope("before", [32]byte{2}, member)}
	name, signer, _ := strings.Cut(name, "@")
	e.Statement = signed.Statement{Kind: signed.Release, Round: 9, Ledger: d.head(name)}
	e.Sign(key(cmp.Or(signer, member)), e.Scope)
	d.names[string(e.Append(nil))] = name
	return e
}

var kinds = map[string]admm.Kind{"done": admm.Done, "release": admm.Release, "probe": admm.Probe, "reply": admm.ProbeReply,
	"evidence": admm.Conflict, "notice": admm.Conflict}

// message returns the message that args describe. Releases are signed, and notices too.
func (d *world) message(kind, from, round string, args map[string]string) *admm.Message {
	n, err := strconv.Atoi(round)
	if err != nil {
		d.t.Fatal(err)
	}
	msg := &admm.Message{Kind: kinds[kind], From: slices.Index(members, from), Round: n, Incarnation: d.m.Incarnation}
	msg.Held, _ = strconv.Atoi(args["held"])
	bytesOf := func(name string) []byte {
		if args[name] == "" {
			return nil
		}
		s := d.statement(args[name])
		return s.Append(nil)
	}
	if args["of"] == "old" {
		msg.Incarnation++
	}
	if _, given := args["own"]; !given && kind == "release" {
		args["own"] = from + ":" + round
	}
	msg.Signed = admm.Signed{Own: bytesOf("own"), Proof: bytesOf("proof"), Other: bytesOf("other")}
	switch kind {
	case "release":
		x, err := strconv.ParseFloat(cmp.Or(args["value"], round), 32)
		if err != nil {
			d.t.Fatal(err)
		}
		msg.Vector = []float32{float32(x)}
	case "done":
		if _, has := args["countersigned"]; has {
			s := d.statement(args["proof"])
			msg.Signed.Countersign = s.Countersign(key(from), signed.NewScope(run, fleet, "a"))
		}
	case "reply":
		if args["ledger"] != "" {
			e := d.ledger("a", args["ledger"])
			msg.Signed.Other = e.Append(nil)
		}
	case "probe":
		if args["ledger"] != "" {
			e := signed.NewCheckpoint(key(from), signed.NewScope(run, fleet, from), d.head(args["ledger"]))
			msg.Signed.Other = e.Append(nil)
		}
	case "notice":
		s := signed.Statement{Kind: signed.Notice, Round: n, Value: signed.NewScope(run, fleet, cmp.Or(args["to"], "a"))}
		s.Sign(key(cmp.Or(args["signer"], from)), signed.NewScope(run, fleet, from))
		msg.Signed.Proof, msg.Signed.Other = s.Append(nil), []byte("a \x1b reason")
	}
	return msg
}

// obey does what a driver does with a verdict, in that order.
func (d *world) obey(from string, v trust.Verdict) {
	d.store()
	for _, n := range v.Notes {
		d.Say("log %s: %s", strings.ToLower(n.Level.String()), strings.TrimSpace(fmt.Sprintln(append([]any{n.Text}, n.Args...)...)))
	}
	d.sends(v.Send)
	more := ""
	if v.Lost > 0 {
		more = fmt.Sprintf(", charging up to release %d", v.Lost)
	}
	if v.Exposed {
		more += ", for good"
	}
	action := [...]string{"take", "ignore", "discard", "refuse", "drop", "end"}[v.Action]
	switch {
	case v.Why == nil && from != "":
		d.Say("%s", action)
	case v.Why != nil:
		d.Say("%s%s: %v", action, more, strings.ReplaceAll(v.Why.Error(), d.dir, "DIR"))
	}
	if v.Action == trust.Drop {
		d.drop(from, v.Why.Error())
	}
}

func (d *world) drop(name, why string) {
	d.m.Drop(slices.Index(members, name), state.Quarantine{Release: d.made + 2, Why: why}, d.made)
	d.store()
	d.sends(d.m.Notices())
}

func (d *world) store() {
	if !d.m.Unstored {
		return
	}
	if d.broken {
		d.Say("the journal cannot be stored")
		return
	}
	j := d.m.Journal
	d.m.Unstored = false
	d.Say("store: evidence %d, dropped edges %d, ledgers %d", len(j.Evidence), len(j.Quarantine), len(j.Ledgers))
}

func (d *world) sends(msgs []admm.Message) {
	for i := range msgs {
		d.Say("send %s:", members[msgs[i].To])
		d.shows(&msgs[i])
	}
}

// shows adds to the last line what a message says and proves.
func (d *world) shows(msg *admm.Message) {
	text := fmt.Sprintf("%v %d, held %d", msg.Kind, msg.Round, msg.Held)
	for _, field := range []struct {
		name string
		b    []byte
	}{{"own", msg.Signed.Own}, {"proof", msg.Signed.Proof}, {"other", msg.Signed.Other}} {
		if len(field.b) > 0 {
			text += ", " + field.name + " " + d.name(field.b)
		}
	}
	if c := msg.Signed.Countersign; c != nil {
		of, err := signed.Parse(msg.Signed.Proof, signed.Release)
		if err == nil {
			err = of.VerifyHeld(signed.NewScope(run, fleet, members[msg.To]), d.cfg.Keys("a"), c)
		}
		text += fmt.Sprintf(", countersigned %v", err == nil)
	}
	if last := &(*d.Lines)[len(*d.Lines)-1]; strings.HasSuffix(*last, ":") {
		*last += " " + text
		return
	}
	d.Say("%s", text)
}

func encode(s *signed.Statement) []byte {
	if s == nil {
		return nil
	}
	return s.Append(nil)
}

// name returns the notation of a statement, or of several statements about ledgers.
func (d *world) name(b []byte) string {
	if name, known := d.names[string(b)]; known {
		return name
	}
	if s, err := signed.Parse(b, signed.Notice); err == nil {
		return fmt.Sprintf("notice from release %d", s.Round)
	}
	if e, err := signed.ParseEarlier(b); err == nil && e.Kind == signed.Checkpoint {
		return fmt.Sprintf("checkpoint at line %d", e.Ledger.Seq)
	}
	if len(b) > signed.EarlierSize && len(b)%signed.EarlierSize == 0 {
		return d.name(b[:signed.EarlierSize]) + " " + d.name(b[signed.EarlierSize:])
	}
	if len(b) == 0 {
		return "none"
	}
	return strconv.Quote(string(bytes.ToValidUTF8(b, nil)))
}
