package fleetfile

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/transport"
)

// change is a replacement in a text: the string new takes the place of the first occurrence of the string old. want
// lists the expected errors, exactly one per entry.
type change struct {
	old, new string
	want     []string
}

func one(old, new, want string) change { return change{old, new, []string{want}} }

func (c change) check(t *testing.T, text string, parse func(string) error) {
	t.Helper()
	if strings.Count(text, c.old) < 1 && c.old != "" {
		t.Fatalf("%q is not in the file", c.old)
	}
	bad := c.new
	if c.old != "" {
		bad = strings.Replace(text, c.old, c.new, 1)
	}
	err := parse(bad)
	if err == nil {
		t.Errorf("%q for %q was accepted, want %q", c.new, c.old, c.want)
		return
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(c.want) {
		t.Errorf("%q for %q: %d faults, want %d:\n%v", c.new, c.old, len(lines), len(c.want), err)
		return
	}
	for i, want := range c.want {
		if !strings.Contains(lines[i], want) || !strings.HasPrefix(lines[i], "fleetfile: ") {
			t.Errorf("%q for %q: fault %q, want one with %q", c.new, c.old, lines[i], want)
		}
	}
}

// TestFleetFaults checks that every error is reported once, with its location and the expected value.
func TestFleetFaults(t *testing.T) {
	text, err := sample().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	pin := func(name string) string { return transport.FormatKey(pinOf(name)) }
	pinsOf := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = pin(fmt.Sprint("retired ", i))
		}
		return list
	}
	members := string(text[strings.Index(string(text), `"members"`):strings.Index(string(text), `"method"`)])
	method := string(text[strings.Index(string(text), `"method"`):strings.Index(string(text), `"privacy"`)])
	privacy := string(text[strings.Index(string(text), `"privacy"`):strings.Index(string(text), `"wire"`)])
	for _, c := range []change{
		// Errors in the text as a whole.
		one("", "", "column 0: unexpected end of JSON input"),
		one("", "null",
			`version is missing, want 1`),
		one("", "[1]",
			`the file: found array, want an object`),
		one("", "\xef\xbb\xbf{}", "column 1: invalid character"),
		one("", "{\"run\": \"\xff\"}",
			`version is missing, want 1`),
		one(`"dim": 3`, `"dim": NaN`, "line 4, column 10: invalid character 'N'"),
		one(`"dim": 3`, `"dim": 0x3`, "line 4, column 11: invalid character 'x'"),
		one(`"dim": 3,`, `"dim": 3,,`, "line 4, column 12: invalid character ','"),
		one(`"dim": 3,`, "// three\n\"dim\": 3,", "invalid character '/'"),
		one("\"grid_bits\": 5}\n}", "\"grid_bits\": 5}\n} {}", "invalid character '{' after top-level value"),
		// A wrong version is reported before all other errors.
		one("", `{"version": 2, "quantum": true}`, "version is 2, want 1 (the version that this program reads)"),
		one(`"version": 1`, `"version": "1"`, `version is "1", want 1`),
		one(`"version": 1,`, "", "version is missing, want 1"),
		// Errors in the fields run and dim.
		one(`"run": "ward-study <2>"`, `"run": ""`,
			`run is "", want 1..64 bytes of printable UTF-8`),
		one(`"run": "ward-study <2>"`, `"run": "`+strings.Repeat("x", 65)+`"`,
			`run is "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", want 1..64 bytes of printable UTF-8`),
		one(`"run": "ward-study <2>"`, `"run": 7`,
			`run: found number, want a string`),
		one(`"run": "ward-study <2>",`, "",
			`run is "", want 1..64 bytes of printable UTF-8`),
		one(`"dim": 3`, `"dim": 0`, "dim is 0, want a whole number, 1..268435456"),
		one(`"dim": 3`, `"dim": 3.0`,
			`dim: found number 3.0, want a whole number`),
		one(`"dim": 3`, `"dim": "3"`,
			`dim: found string, want a whole number`),
		one(`"dim": 3`, `"dim": 268435457`, "dim is 268435457, want a whole number, 1..268435456"),
		one(`"dim": 3`, `"dim": 99999999999999999999`,
			`dim: found number 99999999999999999999, want a whole number`),
		one(`"dim": 3`, `"dim": 4`, "x0.file: want 4 numbers of four bytes"),
		// Errors in the field x0.
		one(`"x0": {`, `"x1": {`,
			`unknown field "x1"`),
		one(`"file": "start/x0.bin"`, `"zeros": true`,
			`x0.zeros is true, so the start vector is zero: omit x0.file and x0.sha256`),
		one(`"file": "start/x0.bin"`, `"file": "/etc/passwd"`,
			`x0.file is "/etc/passwd", want a file in the fleet file's folder or below`),
		one(`"file": "start/x0.bin"`, `"file": "../x0.bin"`, `x0.file is "../x0.bin", want`),
		one(`"file": "start/x0.bin",`, ``,
			`x0.file is "", want a file in the fleet file's folder or below, or "zeros": true`),
		one(`"sha256": "2f`, `"sha256": "3f`,
			`x0.sha256 is 3f7a46bea9a7ba438316dab7dc47da3ef15691ecfc5b5911197e3ee2a9d30dad, but the SHA-256 of "start/x0.bin" is 2f7a46be`),
		one(`"sha256": "2f`, `"sha256": "2`, "x0.sha256 is").mend("want 64 hexadecimal digits"),
		one(`"sha256": "2f`, `"sha256": "gg`, "want 64 hexadecimal digits"),
		// Errors in the field graph.
		one(`"edges": [`, `"edges": [["a", "z"],`,
			`edges[0][1] is "z", want the name of a member`),
		one(`["b", "a"]`, `["b"]`,
			`graph.edges[0] has 1 names, want the names of two members`).
			and(`edges: graph: not connected: there is no path from node 0 to node 1 (1 of 3 nodes can be reached from node 0)`),
		one(`["b", "a"]`, `["b", "a", "c"]`,
			`graph.edges[0] has 3 names, want the names of two members`).
			and(`edges: graph: not connected: there is no path from node 0 to node 1 (1 of 3 nodes can be reached from node 0)`),
		one(`["b", "a"]`, `"b-a"`,
			`graph.edges: found string, want an array`),
		one(`["b", "a"]`, `["b", 1]`,
			`graph.edges: found number, want a string`),
		one(`["b", "a"]`, `["b", "b"]`,
			`edges: graph: edge 0: found (1, 1), a self loop; wanted two different nodes`),
		one(`["b", "a"]`, `["b", "a"], ["a", "b"]`,
			`edges: graph: edge 1: found (0, 1) again, the same as edge 0; wanted each edge once`),
		one(`["b", "a"],`, ``, "not connected"),
		one(`"edges": [`, `"ring": true, "edges": [`,
			`unknown field "ring"`),
		one(`"edges": [`, `"links": [`,
			`unknown field "links"`),
		one(`"graph": {`, `"graph": [], "net": {`,
			`graph: found array, want an object`),
		// Errors in the field members.
		one(members, ``,
			`members is [], want at least one`).
			and(`edges[0][0] is "b", want the name of a member`).
			and(`edges[0][1] is "a", want the name of a member`).
			and(`edges[1][0] is "b", want the name of a member`).
			and(`edges[1][1] is "c", want the name of a member`),
		one(members, `"members": [],`,
			`members is [], want at least one`).
			and(`edges[0][0] is "b", want the name of a member`).
			and(`edges[0][1] is "a", want the name of a member`).
			and(`edges[1][0] is "b", want the name of a member`).
			and(`edges[1][1] is "c", want the name of a member`),
		one(members, `"members": ["a", "b", "c"],`,
			`members: found string, want an object`),
		one(`{"name": "a"`, `{"name": "b"`,
			`members[1] is "b", want a unique name: members[0] has the same name`).
			and(`edges[0][1] is "a", want the name of a member`),
		one(`{"name": "a"`, `{"name": ""`,
			`members[0] is "", want 1..64 bytes of printable UTF-8`).
			and(`edges[0][1] is "a", want the name of a member`),
		one(`{"name": "a", `, `{"name": "a", "role": "boss", `,
			`unknown field "role"`),
		one(pin("c"), "ed25519:AAAA", `members[2].keys[0]: transport: public key "ed25519:AAAA": the key has 3 bytes, want 32`),
		one(pin("c"), "ed25519:"+strings.Repeat("A", 43), "members[2].keys[0]: transport: public key").mend("small order"),
		one(pin("c"), "rsa:1", `does not begin with "ed25519:"`),
		one(pin("c"), pin("b"), "members[2].keys[0] is "+pin("b")+", which is members[1].keys[0] already"),
		one(`["`+pin("c")+`"]`, `[]`, "members[2].keys has 0 keys, want 1 or 2"),
		one(`["`+pin("c")+`"]`, `["`+pin("c")+`", "`+pin("d")+`", "`+pin("e")+`"]`,
			"members[2].keys has 3 keys, want 1 or 2"),
		one(`["`+pin("c")+`"]`, `["`+pin("c")+`"], "retired": ["`+pin("c")+`"]`,
			"members[2].retired[0] is "+pin("c")+", which is members[2].keys[0] already"),
		one(`["`+pin("c")+`"]`, `["`+pin("c")+`"], "retired": ["`+pin("d")+`", "`+pin("a")+`", "`+pin("d")+`"]`,
			"members[2].retired[1] is "+pin("a")+", which is members[0].keys[0] already").and("retired[2] is " + pin("d") +
			", which is members[2].retired[0] already"),
		one(`["`+pin("c")+`"]`, `["`+pin("c")+`"], "retired": [`+`"`+strings.Join(pinsOf(9), `", "`)+`"`+`]`,
			`members[2].retired has 9 keys, want at most 8: those that may no longer connect, but whose past signatures `),
		one(`["`+pin("c")+`"]`, `["`+pin("c")+`"], "retired": "`+pin("d")+`"`,
			`members.retired: found string, want an array`),
		one(`["`+pin("c")+`"]`, `["`+pin("c")+`"], "retired": ["`+strings.TrimPrefix(pin("d"), "ed25519:")+`"]`,
			"members[2].retired[0]: transport: public key"),
		one(`["`+pin("c")+`"]`, `"`+pin("c")+`"`,
			`members.keys: found string, want an array`),
		one(`["`+pin("c")+`"]`, `[null]`,
			`line 18 has null: give a value, or omit the field`),
		one(`"wss://c.example/"`, `"ws://c.example/"`,
			`members[2].addresses[0]: address "ws://c.example/": want wss://host:port/path`),
		one(`"wss://c.example/"`, `"wss://c.example:70000/"`, "port is 70000, want 1 to 65535"),
		one(`"wss://c.example/"`, `8`,
			`members.addresses: found number, want a string`),
		one(`, "addresses": ["wss://b.example:7443/spade", "wss://[::1]:7443"]`, ``,
			`members[1].addresses and members[0].addresses are empty, want an address for one of them: "a" and "b" are`),
		// Errors in the field method.
		one(`"rounds": 4`, `"rounds": 0`,
			`method.rounds is 0, want a whole number, 1..2147483647`).
			and(`method.eta is a list of 4 values, want one number, or one for each of 0 rounds`),
		one(`"rounds": 4`, `"rounds": 5`,
			`method.eta is a list of 4 values, want one number, or one for each of 5 rounds`),
		one(`"cooldown": 2`, `"cooldown": -1`, "method.cooldown is -1, want a whole number, 0..2147483647"),
		one(`"tau": 2`, `"tau": 0`, "method.tau is 0, want a whole number, 1..2147483647"),
		one(`"tau": 2`, `"tau": 2, "tau": 2`,
			`field tau is given twice`),
		one(`"tau": 2`, `"Tau": 2`,
			`unknown field "Tau", want a name of lower-case letters, digits and underscores`),
		one(`"tau": 2`, `"tau": 1e1`,
			`method.tau: found number 1e1, want a whole number`),
		one(`"batch": 8`, `"batch": null`,
			`line 24 has null: give a value, or omit the field`),
		one(`"rho": 1.5`, `"rho": 0`,
			`method.rho is 0, want 1e-9..1e9`),
		one(`"rho": 1.5`, `"rho": 1e999`,
			`method.rho: found number 1e999, want a number`),
		one(`"gain": 0.75`, `"gain": 1`,
			`method.gain is 1, want more than 0 and less than 1`),
		one(`"gain": 0.75`, `"gain": "NaN"`,
			`method.gain: found string, want a number`),
		one(`[0.4, 0.3, 0.2, 0.1]`, `[0.4, 0, 0.2, "x"]`,
			`eta and mu must each be a number, or an array with one number per round`),
		one(`[0.4, 0.3, 0.2, 0.1]`, `[]`,
			`method.eta is a list of 0 values, want one number, or one for each of 4 rounds`),
		one(`"mu": [0.5]`, `"mu": 1e39`,
			`method.mu is 1e+39, want 1.2e-38..3.4e38`),
		one(`"mu": [0.5]`, `"mu": {"from": 1}`,
			`eta and mu must each be a number, or an array with one number per round`),
		one(`"estimator": "tracking"`, `"estimator": "best"`,
			`zoest: estimator "best", want paper or tracking`),
		one(`"directions": "walsh"`, `"directions": "cube"`,
			`zoest: directions "cube", want rademacher or walsh`),
		one(`"seed": 18446744073709551615`, `"seed": 18446744073709551616`,
			`method.seed: found number 18446744073709551616, want a whole number`),
		one(method, `"method": 7,`,
			`method: found number, want an object`),
		one(method, ``,
			`method.rounds is 0, want a whole number, 1..2147483647`).
			and(`method.tau is 0, want a whole number, 1..2147483647`).
			and(`method.rho is 0, want 1e-9..1e9`).
			and(`method.gain is 0, want more than 0 and less than 1`),
		// Errors in the field privacy.
		one(`"clip": 0.1`, `"clip": 0`,
			`privacy.clip is 0, want 1e-30..1e30`),
		one(`"clip": 0.1,`, ``,
			`privacy.clip is 0, want 1e-30..1e30`),
		one(`"clip": 0.1`, `"clip": 1e-20`, "sigma/clip is 9e+19, want 2^-20..2^20"),
		one(`"sigma": 0.9`, `"sigma": 0`,
			`privacy.sigma is 0, want more than 0`),
		one(`"delta": 0.00001`, `"delta": 1`,
			`privacy.delta is 1, want more than 0 and less than 1`),
		one(`"epsilon_limit": 8`, `"epsilon_limit": -8`, "privacy.epsilon_limit is -8, want 0 (no limit), or"),
		one(`"accounting": "zcdp"`, `"accounting": "moments"`,
			`dpmech: accounting is "moments", want gdp, zcdp or paper`),
		one(`"clip": 0.1`, `"clip": 0.1, "non_private": 0`,
			`privacy.non_private: found number, want true or false`),
		one(privacy, ``,
			`privacy is {}, want clip, sigma and delta, or non_private`),
		one(privacy, `"privacy": {},`,
			`privacy is {}, want clip, sigma and delta, or non_private`),
		one(privacy, `"privacy": {"non_private": true, "clip": 0.1},`,
			`privacy.non_private is true, want false, or no other privacy setting (the settings are {NonPrivate:true Clip:0`).
			and(`wire.grid_bits is 5, want 0: a fleet that is not private has no noise that would hide the rounding`),
		one(privacy, `"privacy": {"non_private": false},`,
			`privacy is {}, want clip, sigma and delta, or non_private`),
		// Errors in the field wire.
		one(`"grid_bits": 5`, `"grid_bits": 9`,
			`wire.grid_bits is 9, want 0 (4 with noise), or a whole number, 2..8`),
		one(`"grid_bits": 5`, `"grid_bits": 1`,
			`wire.grid_bits is 1, want 0 (4 with noise), or a whole number, 2..8`),
	} {
		c.check(t, string(text), func(s string) error {
			_, err := parse([]byte(s), "", func(_ string, size int64) ([]byte, error) {
				if size != 12 {
					return nil, fmt.Errorf("of another size")
				}
				return sample().start(), nil
			})
			return err
		})
	}
}

func pairKey(name string) string { return `, "pair_key": "` + pairKeyOf(name).String() + `"` }

// TestSharingFaults checks that every error in the settings of pairwise noise and mixing rounds is reported once, with
// its location and the expected value.
func TestSharingFaults(t *testing.T) {
	text, err := sharing().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	shared := "\"pair_sigma\": 1.5,\n    "
	for _, c := range []change{
		one(`"mixing": 3`, `"mixing": -1`, "method.mixing is -1, want a whole number, 0..65536"),
		one(`"mixing": 3`, `"momentum": 1`,
			`method.momentum is 1, want 0 or more, and less than 1`),
		one(`"mixing": 3`, `"mixing": 65537`, "method.mixing is 65537, want a whole number, 0..65536"),
		one(`"mixing": 3`, `"mixing": 1.5`,
			`method.mixing: found number 1.5, want a whole number`),
		one(`"rounds": 4`, `"rounds": 1000000000`,
			`method.eta is a list of 4 values, want one number, or one for each of 1000000000 rounds`),
		one(`"pair_sigma": 1.5`, `"pair_sigma": -1`,
			`privacy.pair_sigma is -1, want 0 (no noise is shared), or more than 0`),
		one(`"pair_sigma": 1.5`, `"pair_sigma": 1.6`,
			"shared sigma is 1.6, want sigma (0.75) times a power of two in 2^-4..2^10"),
		one(`"pair_sigma": 1.5`, `"pair_sigma": 1536`,
			"shared sigma is 1536, want sigma (0.75) times a power of two in 2^-4..2^10"),
		one(shared, "",
			`privacy.effective_sigma is 1, want 0, because pair_sigma is 0 and members share no noise`).
			and(`privacy.colluders is 1, want 0, because pair_sigma is 0 and members share no noise`).
			and(`privacy.epsilon_limit_all is 40, want 0, because pair_sigma is 0 and members share no noise`).
			and(`members.pair_key is a list of 3 keys, want none, because pair_sigma is 0 and members share no noise`),
		one(pairKey("a"), ``, `members: ["a"] have no pair_key, want one of each, because members share noise: one-time keys are made on`),
		one(pairKey("a"), pairKey("b"), `members[1].pair_key is `+pairKeyOf("b").String()+`, which is members[0].pair_key already`),
		one(pairKey("a"), pairKey("b's last"), `members[0].pair_key is `+pairKeyOf("b's last").String()+`, which is members[1].pair_keys[1] already`),
		one(pairKeyOf("a").String(), pair.Public{1}.String(), `members[0].pair_key: pair: public key `).
			mend(`is a point of low order: everybody could compute the secrets`),
		one(pairKeyOf("b's next").String(), "x25519:no", `members[1].pair_keys[0]: pair: public key "x25519:no"`),
		one("    \"effective_sigma\": 1,\n", "", "privacy.effective_sigma is 0, want at least sigma (0.75), and at most 1.006"),
		one(`"effective_sigma": 1`, `"effective_sigma": 1.01`, "privacy.effective_sigma is 1.01, want at least sigma (0.75), and at "+
			"most 1.006"),
		one(`"effective_sigma": 1`, `"effective_sigma": 0.7`, "privacy.effective_sigma is 0.7, want at least sigma (0.75)"),
		one(`"effective_sigma": 1`, `"effective_sigma": "1"`,
			`privacy.effective_sigma: found string, want a number`),
		one(`"colluders": 1`, `"colluders": 2`, "remains against whoever sees all releases, together with any 2 members"),
		one(`"colluders": 1`, `"colluders": -1`, "privacy.colluders is -1, want a whole number, 0..2147483647"),
		one(`"epsilon_limit_all": 40`, `"epsilon_limit_all": 1e7`,
			`privacy.epsilon_limit_all is 1e+07, want 0 (no limit), or more than 0 and at most 1e6`),
		one(`"epsilon_limit_all": 40`, `"epsilon_limit_all": 7`,
			"privacy.epsilon_limit_all is 7, want 0 (no limit), or a value of at least epsilon_limit (8); epsilon_limit must then be above 0"),
		one("    \"epsilon_limit\": 8,\n", "", "privacy.epsilon_limit_all is 40, want 0 (no limit), or a value of at least epsilon_limit (0)"),
		one(`"clip": 0.1`, `"clip": 0.1, "non_private": true`,
			`privacy.non_private is true, want false, or no other privacy setting (the settings are {NonPrivate:true Clip:0`).
			and(`wire.grid_bits is 5, want 0: a fleet that is not private has no noise that would hide the rounding`),
		one(`"sigma": 0.75`, `"sigma": 0`,
			`privacy.sigma is 0, want more than 0`), // errors that follow from this error are not reported
		one(`["a", "c"]`, `["a", "z"]`,
			`edges[2][1] is "z", want the name of a member`),
	} {
		c.check(t, string(text), func(s string) error {
			_, err := parse([]byte(s), "", load)
			return err
		})
	}
}

func (c change) and(want string) change {
	c.want = append(slices.Clone(c.want), want)
	return c
}

func (c change) mend(want string) change {
	c.want = append(slices.Clone(c.want[:len(c.want)-1]), want)
	return c
}

// TestManyFaults checks that errors in all sections are reported at once, in the order of the file format, with the
// name of the file. If there are more than fifty errors, the first fifty must be reported and the rest only counted.
func TestManyFaults(t *testing.T) {
	text, err := sample().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	bad := strings.NewReplacer(`"dim": 3`, `"dim": -3`, `["b", "a"]`, `["b", "b"]`, `"tau": 2`, `"tau": 0`, `"clip": 0.1`,
		`"clip": 0`,
		`"grid_bits": 5`, `"grid_bits": 99`, `"name": "c"`, `"name": ""`).Replace(string(text))
	path := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Read(path)
	if err == nil {
		t.Fatal("accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{"dim is -3", "members[2] is", "edges[", "method.tau", "privacy.clip", "wire.grid_bits"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], "fleetfile: "+path+": sdk: fleet: "+want) {
			t.Fatalf("fault %d of\n%v\nis not about %s", i, err, want)
		}
	}
	if len(lines) != 6 {
		t.Errorf("%d faults, want 6:\n%v", len(lines), err)
	}
	many := strings.Replace(string(text), `["b", "a"]`, strings.Repeat(`["x", "a"], `, 1000)+`["b", "a"]`, 1)
	_, err = parse([]byte(many), "", load)
	if err == nil || strings.Count(err.Error(), "\n") != maxFaults ||
		!strings.HasSuffix(err.Error(), "950 more errors") {
		t.Errorf("1000 faults gave\n%v", err)
	}
}

// TestRangesAgree checks that the ranges stated in errors are exactly the ranges that sdk.Fleet accepts, including
// their end points.
func TestRangesAgree(t *testing.T) {
	for name, change := range map[string]func(f *File){
		"rounds": func(f *File) {
			f.Fleet.Method.Rounds, f.Fleet.Method.Eta = math.MaxInt32-f.Fleet.Method.Cooldown, []float64{1}
		},
		"cooldown":     func(f *File) { f.Fleet.Method.Cooldown = math.MaxInt32 - f.Fleet.Method.Rounds },
		"tau":          func(f *File) { f.Fleet.Method.Tau = math.MaxInt32 },
		"smallest rho": func(f *File) { f.Fleet.Method.Rho = 1e-9 },
		"largest rho":  func(f *File) { f.Fleet.Method.Rho = 1e9 },
		"gain":         func(f *File) { f.Fleet.Method.Gain = math.Nextafter(1, 0) },
		"smallest mu":  func(f *File) { f.Fleet.Method.Mu = []float64{0x1p-126}; f.Fleet.Method.Eta = []float64{1e20} },
		"largest mu": func(f *File) {
			f.Fleet.Method.Mu = []float64{math.MaxFloat32}
			f.Fleet.Method.Eta = []float64{1e-20}
		},
		"clip":          func(f *File) { f.Fleet.Privacy.Clip, f.Fleet.Privacy.Sigma = 1e-30, 1e-30 },
		"epsilon limit": func(f *File) { f.Fleet.Privacy.EpsilonLimit = 1e6 },
		"grid":          func(f *File) { f.Fleet.Wire.GridBits = 2 },
		"mixing":        func(f *File) { f.Fleet.Method.Mixing = 1 << 16 },
		"most shared": func(f *File) {
			withPairKeys(f)
			f.Fleet.Privacy.PairSigma, f.Fleet.Privacy.EffectiveSigma = 1024*f.Fleet.Privacy.Sigma, f.Fleet.Privacy.Sigma
		},
		"least shared": func(f *File) {
			withPairKeys(f)
			f.Fleet.Privacy.PairSigma, f.Fleet.Privacy.EffectiveSigma = f.Fleet.Privacy.Sigma/16, f.Fleet.Privacy.Sigma
		},
		"limit against all": func(f *File) {
			withPairKeys(f)
			f.Fleet.Privacy.PairSigma, f.Fleet.Privacy.EffectiveSigma = f.Fleet.Privacy.Sigma, f.Fleet.Privacy.Sigma
			f.Fleet.Privacy.LimitAll = 1e6
		},
		"run": func(f *File) { f.Fleet.Run = strings.Repeat("ä", 32) },
	} {
		f := sample()
		change(f)
		if err := f.Fleet.Validate(); err != nil {
			t.Errorf("%s: the fleet itself: %v", name, err)
		}
		text, err := f.Marshal()
		if err != nil {
			t.Errorf("%s: the file: %v", name, err)
			continue
		}
		if back, err := parse(text, "", load); err != nil || !reflect.DeepEqual(back, f) {
			t.Errorf("%s: read %+v, %v", name, back, err)
		}
	}
}
