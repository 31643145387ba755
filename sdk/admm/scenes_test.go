package admm

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/internal/dialogue"
)

var rewrite = flag.Bool("update", false, "write testdata/*.txt anew")

// TestScenes runs the dialogues in testdata/*.txt. Read round.txt first.
func TestScenes(t *testing.T) {
	dialogue.Run(t, "testdata/*.txt", *rewrite, func(t *testing.T, out *dialogue.Lines) func([]string) {
		s := scene{t: t, Lines: out}
		return s.do
	})
}

// scene is a fleet of members a, b, c, ..., the messages under way, and what was printed.
type scene struct {
	t *testing.T
	*dialogue.Lines
	opening []string // the words of the first command
	members []*player
	air     []Message
}

// player is a member and its device: a machine, nil while the device is off, and what the device has stored.
type player struct {
	cfg      Config
	m        *Machine
	kept     []State // the newest first
	paid     int     // the last release that was charged
	finished bool
}

// list prints the line "what member", such as "a receives release 2 from b". If the previous line begins with the same
// text (what), list adds the member to that line instead.
func (s *scene) list(what string, member int) {
	if last := &(*s.Lines)[len(*s.Lines)-1]; strings.HasPrefix(*last, what) {
		*last += ", " + name(member)
	} else {
		s.Say("%s %s", what, name(member))
	}
}

func (s *scene) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func name(member int) string { return string(rune('a' + member)) }

// names joins the names of members with commas.
func names(members []int) string {
	var list []string
	for _, i := range members {
		list = append(list, name(i))
	}
	return strings.Join(list, ", ")
}

// what returns the words that name a message in the output.
func what(msg Message) string {
	switch {
	case isProbe(msg):
		return fmt.Sprintf("a %v (made %d, holds %d)", msg.Kind, msg.Round, msg.Held)
	case msg.Kind == Done:
		return "that it is done"
	case msg.Resent:
		return fmt.Sprintf("release %d in answer", msg.Round)
	}
	return fmt.Sprintf("release %d", msg.Round)
}

// take removes and returns the messages under way that match an edge, such as a>b, a> or >b. Without an edge it takes
// all messages.
func (s *scene) take(edge []string) (taken []Message) {
	from, to, _ := strings.Cut(strings.Join(edge, ""), ">")
	s.air = slices.DeleteFunc(s.air, func(msg Message) bool {
		fits := (from == "" || from == name(msg.From)) && (to == "" || to == name(msg.To))
		if fits {
			taken = append(taken, msg)
		}
		return fits
	})
	slices.SortStableFunc(taken, func(a, b Message) int { return a.To - b.To })
	return taken
}

// work lets a member advance as far as it can. If fails is "charged" or "stored", the member's device fails as soon as
// a release is charged or stored.
func (s *scene) work(i int, fails string) {
	for p := s.members[i]; p.m != nil; {
		r, err := p.m.Ready()
		if err != nil {
			s.Say("%s stops: %v", name(i), err)
			p.m = nil
			return
		}
		for _, v := range p.m.Verdicts() {
			s.Say("%s drops the edge to %s: %s", name(i), name(v.From), v.Why)
		}
		switch {
		case r.Reserve > p.paid:
			p.paid = r.Reserve
			s.Say("%s charges release %d", name(i), r.Reserve)
		case r.Reserve > 0:
			s.Say("%s has charged release %d before", name(i), r.Reserve)
		case r.Released > 0:
			p.kept = append([]State{p.m.State().copied()}, p.kept[:min(1, len(p.kept))]...)
			s.Say("%s makes and stores release %d: %.2f", name(i), r.Released, p.m.Model()[0])
		}
		if r.Reserve > 0 && fails == "charged" || r.Released > 0 && fails == "stored" {
			s.do([]string{"fail", name(i)})
			return
		}
		for _, msg := range r.Send {
			s.list(fmt.Sprintf("%s sends %s to", name(i), what(msg)), msg.To)
			msg.Vector, msg.Grid = slices.Clone(msg.Vector), slices.Clone(msg.Grid)
			s.air = append(s.air, msg)
		}
		for _, q := range r.Queries { // the best model for the data of a is 0, for that of b 1, and so on
			off := float64(q.Point[0]) - float64(i)
			square := float64(off * off)
			if err := p.m.Answer(square / (4 + square)); err != nil {
				s.t.Fatal(err)
			}
		}
		if len(r.Queries) > 0 || r.Reserve > 0 || r.Released > 0 {
			continue
		}
		if waiting := p.m.Status().Waiting; len(waiting) > 0 {
			s.Say("%s waits for %s", name(i), names(waiting))
		} else if r.Finished && !p.finished {
			p.finished = true
			s.Say("%s is finished", name(i))
		}
		return
	}
}

// deliver hands messages to their receivers.
func (s *scene) deliver(messages []Message) {
	for _, msg := range messages {
		p := s.members[msg.To]
		if p.m == nil {
			continue
		}
		s.list(fmt.Sprintf("%s receives %s from", name(msg.To), what(msg)), msg.From)
		if err := p.m.Receive(msg); err != nil {
			s.Say("%s refuses it: %v", name(msg.To), err)
		}
	}
}

// fleet sets up a scene from a list of words: edges such as a-b, rounds=6, cooldown=1, and "handshake" if devices send
// probes when they start.
func (s *scene) fleet(words []string) {
	s.opening, s.members, s.air = words, nil, nil
	number, n, edges := map[string]int{}, 0, [][2]int(nil)
	for _, w := range words {
		if key, value, is := strings.Cut(w, "="); is {
			number[key] = s.number(value)
		} else if w != "handshake" {
			edges = append(edges, [2]int{int(w[0] - 'a'), int(w[2] - 'a')})
			n = max(n, int(w[0]-'a')+1, int(w[2]-'a')+1)
		}
	}
	for i, cfg := range configs(n, edges, func(i int, c *Config) {
		private(dpmech.Gaussian{Clip: 1, Sigma: 0.05})(i, c)
		c.Estimator.Dim, c.Estimator.Samples, c.Estimator.Batch = 1, 1, 1
		c.Rounds, c.Cooldown, c.Tau, c.Members = number["rounds"], number["cooldown"], 1, n
		c.Rho, c.Beta, c.Eta = 1, 0.8, Schedule{1.5}
		c.GridStep, c.Probe = 0.05/16, slices.Contains(words, "handshake")
	}) {
		s.members = append(s.members, &player{cfg: cfg, m: reborn(s.t, cfg)})
		s.Say("%s has the neighbors %s, and data that is best described by %d", name(i), names(cfg.Neighbors), i)
	}
}

// rounds lets all members work and delivers all messages, n times. It prints only the state of the members at the end.
func (s *scene) rounds(n int) {
	before := len(*s.Lines)
	for range n {
		for i := range s.members {
			s.work(i, "")
		}
		s.deliver(s.take(nil))
	}
	*s.Lines = (*s.Lines)[:before]
	for i, p := range s.members {
		if p.m == nil {
			s.Say("%s: off", name(i))
			continue
		}
		s.Say("%s: release %d, charged up to %d, model %.2f", name(i), p.m.Status().Round, p.paid, p.m.Model()[0])
		if waiting := p.m.Status().Waiting; len(waiting) > 0 {
			(*s.Lines)[len(*s.Lines)-1] += ", waits for " + names(waiting)
		} else if p.finished {
			(*s.Lines)[len(*s.Lines)-1] += ", finished"
		}
	}
}

// compare runs the same fleet without disturbances, and compares the models of the two runs.
func (s *scene) compare() {
	quiet := scene{t: s.t, Lines: new(dialogue.Lines)}
	quiet.fleet(s.opening)
	quiet.rounds(100)
	for i, p := range s.members {
		equal := "the bits"
		if !slices.Equal(p.m.Model(), quiet.members[i].m.Model()) {
			equal = "other bits than"
		}
		s.Say("%s has %s of a run without disturbance", name(i), equal)
	}
}

func (s *scene) do(words []string) {
	verb, args := words[0], append(words[1:], "", "")
	i, all := 0, []int(nil)
	for j := range s.members {
		if args[0] == "" || strings.HasPrefix(args[0], name(j)) {
			i, all = j, append(all, j)
		}
	}
	switch verb {
	case "fleet":
		s.fleet(words[1:])
	case "work":
		for _, i := range all {
			s.work(i, args[1])
		}
	case "deliver":
		s.deliver(s.take(args))
	case "lose", "repeat", "forge":
		s.disturb(verb, s.take(args[:1]), args[1])
	case "rounds":
		s.rounds(s.number(args[0]))
	case "compare":
		s.compare()
	case "tick":
		s.members[i].m.Tick()
		s.Say("%s has waited for some time", name(i))
	case "fail":
		s.members[i].m = nil
		s.Say("%s fails", name(i))
	case "wipe":
		s.members[i].kept = nil
		s.Say("%s loses all that it has stored", name(i))
	case "start":
		p := s.members[i]
		p.cfg.Incarnation++
		p.m, p.finished = reborn(s.t, p.cfg, p.kept...), false
		s.Say("%s starts after release %d", name(i), p.m.Status().Round)
	case "back":
		s.members[i].kept = s.members[i].kept[1:]
		s.Say("%s loses the newest release that it has stored", name(i))
	case "damage":
		s.members[i].kept = s.members[i].kept[:1]
		s.Say("%s can no longer read the release before its newest", name(i))
	case "say":
		s.claim(args[0], args[1], s.number(args[2]), s.number(args[3]))
	case "reach":
		s.members[i].m.Reached(int(args[1][0] - 'a'))
		s.Say("%s is connected to %s again", name(i), args[1])
	case "queries":
		s.Say("%s has queried %d losses", name(i), s.members[i].m.Status().Queries)
	case "drop":
		without := s.members[i].m.Quarantine(int(args[0][2] - 'a'))
		s.Say("%s drops the edge to %s, and makes release %d without it", name(i), args[0][2:], without)
	default:
		s.t.Fatalf("unknown command %q", words)
	}
}

// claim delivers a message that an adversary invents: a probe, a reply or done. made is the sender's newest release, and
// held the newest release of the receiver that it claims to hold.
func (s *scene) claim(edge, kind string, made, held int) {
	from, to := int(edge[0]-'a'), int(edge[2]-'a')
	s.deliver([]Message{{From: from, To: to, Kind: map[string]Kind{"probe": Probe, "reply": ProbeReply, "done": Done}[kind],
		Round: made, Held: held, Incarnation: s.members[to].cfg.Incarnation}})
}

// disturb loses messages, repeats them, or adds the given number of grid steps to the content of the last message.
func (s *scene) disturb(verb string, messages []Message, steps string) {
	for n, msg := range messages {
		text := fmt.Sprintf("%s from %s to %s", what(msg), name(msg.From), name(msg.To))
		switch {
		case verb == "lose":
			s.Say("%s is lost", text)
			continue
		case verb == "repeat":
			s.Say("%s is repeated", text)
			s.air = append(s.air, msg)
		case n == len(messages)-1:
			msg.Grid = []int32{msg.Grid[0] + int32(s.number(steps))}
			s.Say("%s is moved by %s steps of the grid", text, steps)
		}
		s.air = append(s.air, msg)
	}
}
