package sdk_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/zoest"
)

// TestFleetFaults checks errors that no fleet file can have; package fleetfile has a list of the others.
func TestFleetFaults(t *testing.T) {
	for want, change := range map[string]func(f *sdk.Fleet){
		`run is "\xff", want 1..64 bytes`:                               func(f *sdk.Fleet) { f.Run = "\xff" },
		`members[1] is "b\n", want 1..64 bytes`:                         func(f *sdk.Fleet) { f.Members[1] = "b\n" },
		`run is "\x1b[2J", want 1..64`:                                  func(f *sdk.Fleet) { f.Run = "\x1b[2J" },
		"method.cooldown is 2147483640, want at most 2147483639, which": func(f *sdk.Fleet) { f.Method.Cooldown = math.MaxInt32 - 7 },
		"method.mixing is 32768, want at most 2046 with 1048576 rounds": func(f *sdk.Fleet) {
			f.Method.Rounds, f.Method.Mixing, f.Method.Eta, f.Method.Mu = 1<<20, 1<<15, []float64{0.1}, []float64{0.1}
		},
		"beta, which follows from gain, rho, tau, eta and mu of the method, is 1.15": func(f *sdk.Fleet) {
			f.Method.Eta, f.Method.Mu, f.Method.Rho = []float64{1e38}, []float64{1e38}, 1e9
		},
		"privacy: dpmech: sigma/clip is": func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{Clip: 1e-20, Sigma: 1, Delta: 1e-5} },
		"records: dpmech: found 2147483647 units": func(f *sdk.Fleet) {
			f.Privacy = sdk.Privacy{Clip: 1000, Sigma: 0.002, Delta: 1e-5, Unit: dpmech.Record}
			f.Method.Batch, f.Method.Momentum, f.Records = 0, 0, slices.Repeat([]int{math.MaxInt32}, len(f.Members))
		},
		"wire.grid_bits is 8, want at most 7, because a member adds noise of up to 32 alone": func(f *sdk.Fleet) {
			f.Members, f.Edges = nil, nil
			for i := range 300 {
				f.Members = append(f.Members, fmt.Sprint(i))
				f.Edges = append(f.Edges, [2]string{fmt.Sprint(i), fmt.Sprint((i + 1) % 300)})
			}
			f.Wire.GridBits = 8
			f.Privacy = sdk.Privacy{Clip: 1, Sigma: 1, Delta: 1e-5, PairSigma: 1024, EffectiveSigma: 17, Partners: 299}
		},
		"x0 is a list of 1 numbers, want 6":                  func(f *sdk.Fleet) { f.X0 = []float32{1} },
		"method.batch is -1":                                 func(f *sdk.Fleet) { f.Method.Batch = -1 },
		"gain is NaN, want":                                  func(f *sdk.Fleet) { f.Method.Gain = math.NaN() },
		"method.eta is a list of 0 values":                   func(f *sdk.Fleet) { f.Method.Eta = nil },
		`method.directions is "7", want rademacher or walsh`: func(f *sdk.Fleet) { f.Method.Directions = 7 },
		`method.estimator is "7", want paper or tracking`:    func(f *sdk.Fleet) { f.Method.Estimator = 7 },
		`privacy.accounting is "Accounting(7)", want gdp, zcdp or paper`: func(f *sdk.Fleet) {
			f.Privacy = sdk.Privacy{Clip: 1, Sigma: 1, Delta: 1e-5, Accounting: 7}
		},
		"task is a text of 7 bytes, want a JSON object in UTF-8": func(f *sdk.Fleet) { f.Task = json.RawMessage(`{"a": 1`) },
		"task is a text of 4 bytes, want a JSON":                 func(f *sdk.Fleet) { f.Task = json.RawMessage(` [1]`) },
		"task is a text of 0 bytes":                              func(f *sdk.Fleet) { f.Task = json.RawMessage{} },
		"task is a text of 8 bytes, want":                        func(f *sdk.Fleet) { f.Task = json.RawMessage("{\"\xff\": 1}") },
		"task is a text of 8388609 bytes, want at most": func(f *sdk.Fleet) {
			f.Task = json.RawMessage("{}" + strings.Repeat(" ", 8<<20-1))
		},
	} {
		f := ring()
		change(f)
		if _, err := f.Plan(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := sim.Machines(ring(), samples[:2], noise); err == nil {
		t.Error("two sample counts were enough for five members")
	}
}

// TestFleetGain checks that the fleet has the requested gain: with a = tau*beta*eta*mu, a*rho*lambda_N equals Gain
// times the stability limit, 8/3. With schedules, this is true at the largest eta*mu.
func TestFleetGain(t *testing.T) {
	for _, m := range []sdk.Method{
		{Eta: []float64{0.5}, Mu: []float64{0.3}},
		{Eta: []float64{0.5, 0.4, 0.3}, Mu: []float64{0.3}},
		{Eta: []float64{0.5}, Mu: []float64{0.1, 0.2, 0.3}},
	} {
		f := ring()
		f.Members, f.Edges = f.Members[:4], [][2]string{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"d", "a"}} // lambda_N = 4
		f.Method.Rounds, f.Method.Tau, f.Method.Rho, f.Method.Gain = 3, 5, 2, 0.6
		f.Method.Eta, f.Method.Mu = m.Eta, m.Mu
		cfgs := must(sim.Machines(f, samples[:4], noise))(t)
		a := 5 * cfgs[0].Beta * 0.5 * 0.3
		if got := a * 2 * 4 / (8.0 / 3); math.Abs(got-0.6) > 1e-9 {
			t.Errorf("gain is %v of the limit, want 0.6", got)
		}
	}
}

// TestFleetHash checks that the hash depends on every part of the definition, and on nothing else.
func TestFleetHash(t *testing.T) {
	if a, b := ring(), ring(); a.Hash() != b.Hash() {
		t.Error("equal fleets have different hashes")
	}
	seen := map[[32]byte]string{ring().Hash(): "the original"}
	changes := map[string]func(f *sdk.Fleet){
		"run":     func(f *sdk.Fleet) { f.Run = "other" },
		"x0":      func(f *sdk.Fleet) { f.X0 = []float32{0, 0, 0, 0, 0, 1} },
		"members": func(f *sdk.Fleet) { f.Members[0], f.Members[1] = "b", "a" },
		"edges":   func(f *sdk.Fleet) { f.Edges = f.Edges[:5] },
		"task":    func(f *sdk.Fleet) { f.Task = json.RawMessage(`{}`) },
		"field":   func(f *sdk.Fleet) { f.Task = json.RawMessage(`{"a": 1}`) },
		"number":  func(f *sdk.Fleet) { f.Task = json.RawMessage(`{"a": 9007199254740993}`) },
		"digit":   func(f *sdk.Fleet) { f.Task = json.RawMessage(`{"a": 9007199254740992}`) },
		"order":   func(f *sdk.Fleet) { f.Task = json.RawMessage(`{"a": [1, 2]}`) },
		"turned":  func(f *sdk.Fleet) { f.Task = json.RawMessage(`{"a": [2, 1]}`) },
	}
	for name := range settingsOf(new(sdk.Fleet)) {
		changes[name] = func(f *sdk.Fleet) {
			switch x := reflect.ValueOf(settingsOf(f)[name]).Elem(); x.Kind() {
			case reflect.Bool:
				*f = *privateRing()
			case reflect.Slice: // a schedule
				x.Set(reflect.ValueOf(admm.Schedule{math.Nextafter(x.Index(0).Float(), 1)}))
			case reflect.Uint64:
				x.SetUint(x.Uint() + 1)
			case reflect.Float64:
				x.SetFloat(x.Float() + 1)
			case reflect.String:
				x.SetString(x.String() + "x")
			default:
				x.SetInt(x.Int() ^ 1)
			}
		}
	}
	for name, change := range changes {
		f := ring()
		change(f)
		if other, taken := seen[f.Hash()]; taken {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[f.Hash()] = name
	}
}

func TestFleetHashMeaning(t *testing.T) {
	for name, change := range map[string]func(f *sdk.Fleet){
		"edges turned":       func(f *sdk.Fleet) { f.Edges[0][0], f.Edges[0][1] = f.Edges[0][1], f.Edges[0][0] },
		"edges in disorder":  func(f *sdk.Fleet) { f.Edges[0], f.Edges[3] = f.Edges[3], f.Edges[0] },
		"start at zero":      func(f *sdk.Fleet) { f.X0 = make([]float32, 6) },
		"default directions": func(f *sdk.Fleet) { f.Method.Directions = zoest.Rademacher },
		"default estimator":  func(f *sdk.Fleet) { f.Method.Estimator = zoest.Paper },
	} {
		f := ring()
		change(f)
		if f.Hash() != ring().Hash() {
			t.Errorf("%s: another hash", name)
		}
	}
}

// TestFleetTask pins the hash and the hello of a fleet without a task. It checks that the hash depends on the meaning
// of a task, but not on how the task is written.
func TestFleetTask(t *testing.T) {
	if h := ring().Hash(); hex.EncodeToString(h[:]) != "66a23d4cee30471a02abce982ad4586f778132a2af285ce3efb6b5c61c0f12ca" {
		t.Errorf("hash %x", h)
	}
	if sum := sha256.Sum256(ring().Hello("a")("b")); hex.EncodeToString(
		sum[:]) != "13f4aa4f0043392feba7dafca732966e47b7dee0f84aedfa5b2cc7434055e28c" {
		t.Errorf("hello %x", sum)
	}
	one, other := ring(), ring()
	one.Task = json.RawMessage(`{"model": "softmax", "mean": [0.1, -2e-7], "x": {"b": null, "a": "<\u00e4>"}}`)
	other.Task = json.RawMessage("\n{\"x\":{\"a\":\"<ä>\",\"b\":null},\"mean\":[0.1,\t-2e-7],\"model\":\"softmax\"} ")
	if one.Hash() != other.Hash() {
		t.Error("another hash for other spacing and order")
	}
	if err := one.CheckHello("a")("b", other.Hello("b")("a")); err != nil {
		t.Error(err)
	}
	if _, err := one.Plan(); err != nil {
		t.Error(err)
	}
}

// TestHello checks that two members accept each other's hello if and only if their fleets are equivalent and each hello
// names the other member, and that an error names the parts of the fleet that differ.
func TestHello(t *testing.T) {
	f := privateRing()
	f.Task = json.RawMessage(`{"pca": 3}`)
	if err := f.CheckHello("b")("a", f.Hello("a")("b")); err != nil {
		t.Errorf("equal fleets: %v", err)
	}
	for name, hello := range map[string][]byte{
		"another sender": f.Hello("c")("b"),
		"another target": f.Hello("a")("c"),
		"nothing":        nil,
		"noise":          []byte("GET / HTTP/1.1"),
	} {
		if err := f.CheckHello("b")("a", hello); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	for want, change := range map[string]func(f *sdk.Fleet){
		": task differs":                    func(f *sdk.Fleet) { f.Task = json.RawMessage(`{"pca": 4}`) },
		"task differs":                      func(f *sdk.Fleet) { f.Task = nil },
		": method differs, privacy differs": func(f *sdk.Fleet) { f.Method.Tau, f.Privacy.Sigma = 3, 0.2 },
		": method differs, task differs":    func(f *sdk.Fleet) { f.Method.Tau, f.Task = 3, nil },
		"records":                           func(f *sdk.Fleet) { f.Records = []int{7, 5, 2, 9, 5} },
	} {
		other := *f
		change(&other)
		for _, two := range [][2]*sdk.Fleet{{f, &other}, {&other, f}} {
			if err := two[0].CheckHello("b")("a", two[1].Hello("a")("b")); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
}

// TestFleetJSONDefaults checks that an empty or missing setting in the JSON of a fleet means the default, and that an
// unknown setting is refused.
func TestFleetJSONDefaults(t *testing.T) {
	const text = `{"method": {"estimator": %[1]q, "directions": %[1]q}, "privacy": {"accounting": %[1]q}}`
	var got sdk.Fleet
	got.Method.Estimator, got.Method.Directions = zoest.Tracking, zoest.Walsh
	got.Privacy.Accounting = dpmech.ZCDP
	if err := json.Unmarshal(fmt.Appendf(nil, text, ""), &got); err != nil || !reflect.DeepEqual(got, sdk.Fleet{}) {
		t.Errorf("read %+v, %v, want all defaults", got, err)
	}
	if err := json.Unmarshal(fmt.Appendf(nil, text, "other"), &got); err == nil {
		t.Error("an unknown setting was read")
	}
}
