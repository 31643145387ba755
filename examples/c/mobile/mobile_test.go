package mobile

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// app is a loss of an app: the distance from 1, or what is planted.
type app struct {
	asked   int
	planted func(asked int) error
}

func (a *app) Loss(model []byte, _ int) (float64, error) {
	off := float64(math.Float32frombits(binary.LittleEndian.Uint32(model))) - 1
	a.asked++
	if a.planted != nil {
		return off * off, a.planted(a.asked)
	}
	return off * off, nil
}

func (a *app) Line(string) {}

// newNode opens a node of a fleet of one, from text.
func newNode(t *testing.T, loss Loss) *Node {
	t.Helper()
	dir := t.TempDir()
	key, err := fleetfile.CreateKey(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	file := &fleetfile.File{
		Fleet: &sdk.Fleet{
			Run: "app", Dim: 1, Members: []string{"phone"}, Privacy: sdk.Privacy{NonPrivate: true},
			Method: sdk.Method{Rounds: 100, Tau: 2, Rho: 1, Gain: 0.5, Eta: []float64{0.2}, Mu: []float64{0.1}},
		},
		Members: []fleetfile.Member{{Name: "phone", Keys: []ed25519.PublicKey{key}}},
	}
	fleet, err := file.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	n, err := OpenText(`{"version": 1, "name": "phone", "fleet": "-", "key": "key", "state": "state",
		"oracle": {"stream": ["app"]}}`,
		string(fleet), dir, 4, loss)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// An app learns, and gets model and status.
func TestApp(t *testing.T) {
	a := &app{}
	n := newNode(t, a)
	if err := n.Run(a, true, false); err != nil {
		t.Fatal(err)
	}
	model, err := n.Model()
	if err != nil || len(model) != 4 {
		t.Fatal(model, err)
	}
	if x := math.Float32frombits(binary.LittleEndian.Uint32(model)); math.Abs(float64(x)-1) > 0.2 {
		t.Errorf("the model is %v, want 1 or so", x)
	}
	if st, err := n.Status(); err != nil || !strings.Contains(st, `"phase":"ended"`) {
		t.Error(st, err)
	}
	if _, err := n.Certificate(); err == nil || !strings.Contains(err.Error(), "NOT PRIVATE") {
		t.Error(err)
	}
}

// What an app throws, a panic, a node that nobody has opened and a stop are errors, and end nothing.
func TestFaults(t *testing.T) {
	thrown := errors.New("IllegalStateException")
	if err := newNode(t, &app{planted: func(int) error { return thrown }}).Run(nil, true, false); !errors.Is(err, thrown) {
		t.Error(err)
	}
	err := newNode(t, &app{planted: func(int) error { panic("planted") }}).Run(nil, true, false)
	if err == nil || !strings.Contains(err.Error(), "planted") {
		t.Error(err)
	}
	n := &Node{}
	n.Stop()
	_, errModel := n.Model()
	_, errStatus := n.Status()
	if errModel == nil || errStatus == nil || n.Run(nil, false, false) == nil {
		t.Error("a node that nobody has opened works")
	}
	if _, err := Open("/nonexistent", 1, &app{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	a := &app{}
	n = newNode(t, a)
	a.planted = func(asked int) error {
		if asked == 10 {
			n.Stop()
		}
		return nil
	}
	if err := n.Run(nil, true, false); err == nil || a.asked > 20 {
		t.Errorf("%v after %d losses", err, a.asked)
	}
}

// gobind makes Java and Objective-C of every declaration. What it cannot bind it skips, with a remark.
func TestBinds(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: gobind takes a while")
	}
	dir := t.TempDir()
	cmd := exec.Command("go", "tool", "gobind", "-lang=go,java,objc", "-outdir="+dir, ".")
	if said, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(said), "dial tcp") || strings.Contains(string(said), "module lookup disabled") {
			t.Skipf("skipped: golang.org/x/mobile is not here, and cannot be fetched: %s", said)
		}
		t.Fatalf("%v\n%s", err, said)
	}
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(all.String()) {
		if strings.Contains(line, "skipped ") {
			t.Error(line)
		}
	}
	for _, want := range []string{
		"public double loss(byte[] model, long sample) throws Exception;",
		"public native void run(Lines lines, boolean anyway, boolean restore)",
		"public static native Node open(String path, long samples, Loss loss) throws Exception;",
		"public static native Node openText(", "public native byte[] model()", "public native String status()",
		"public native String certificate()", "public native void stop();",
		"- (NSData* _Nullable)model:(NSError* _Nullable* _Nullable)error;",
		"MobileOpen(NSString* _Nullable path, long samples, id<MobileLoss> _Nullable loss",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("nothing says %q", want)
		}
	}
}
