package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
)

// The board: a Raspberry Pi of the first generation (ARM1176, armv6) with 64 MiB, emulated by qemu-system-arm with
// Debian's own kernel for it. The kernel is told of 64 MiB in two banks, for the emulator puts the first file system
// behind the lower half of what it has; and to leave out a driver for registers that the emulator lacks. The network is
// USB, as on that board.
const (
	boardKernel = "console=ttyAMA0,115200 mem=48M@0 mem=16M@0x8000000 cma=4M quiet " +
		"initcall_blacklist=bcm2835_power_driver_init"
	boardTree    = "bcm2835-rpi-a-plus.dtb"
	boardGateway = "10.0.2.2" // what the board calls this machine
	// a hundred nodes at once take such a board some minutes, and an emulated one on a busy machine many
	boardPatience = 40 * time.Minute
	boardIoT      = 16 << 10 // KiB that examples/iot may take, all of its hundred nodes together
)

// The random numbers of a board that has just started come from its own generator: without, the program would wait for
// them.
var boardModules = []string{"bcm2835-rng", "mii", "usbnet", "cdc_ether"}

const boardInit = `#!/bin/busybox sh
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t devtmpfs dev /dev
busybox ifconfig lo 127.0.0.1 up
for m in bcm2835-rng mii usbnet cdc_ether; do busybox insmod /modules/$m.ko; done
until busybox ifconfig usb0 10.0.2.15 netmask 255.255.255.0 up 2>/dev/null; do busybox sleep 1; done
busybox route add default gw 10.0.2.2
busybox grep -m1 model /proc/cpuinfo
busybox free
peak() { # PID FILE: until the process is over, which then has no memory
	while busybox grep VmHWM /proc/$1/status 2>/dev/null >/peak.new; do
		busybox mv /peak.new $2
		busybox sleep 1
	done
}
/spade-edge run /fleet/a.json -json >/outcome &
peak $! /peak
echo BOARD-OUTCOME
busybox cat /outcome
echo BOARD-PEAK
busybox cat /peak
busybox free
GOMEMLIMIT=12MiB /iot &
peak $! /peak.iot
echo BOARD-IOT
busybox cat /peak.iot
echo BOARD-END
busybox poweroff -f
`

// runBoard runs a fleet of three to its end, one of them on the board and two as processes of this machine, and then
// examples/iot there. dir keeps what is downloaded: Debian's armel kernel and busybox, 27 MB.
func runBoard(dir string) error {
	if err := fetchBoard(dir); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "board")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	arm, here, iot := filepath.Join(tmp, "arm"), filepath.Join(tmp, "here"), filepath.Join(tmp, "iot")
	if err := build(".", program, on("linux", "arm", "6"), arm, "", true); err != nil {
		return err
	}
	if err := build(".", "./examples/iot", on("linux", "arm", "6"), iot, "", true); err != nil {
		return err
	}
	if err := build(".", program, on(runtime.GOOS, runtime.GOARCH, os.Getenv("GOARM")), here, "", true); err != nil {
		return err
	}
	files := filepath.Join(tmp, "fleet")
	if err := os.Mkdir(files, 0o700); err != nil {
		return err
	}
	fleet := &sdk.Fleet{
		Run: "board", Dim: 6, Members: []string{"a", "b", "c"}, Edges: [][2]string{{"a", "b"}, {"a", "c"}, {"b", "c"}},
		Method: sdk.Method{Rounds: 20, Cooldown: 10, Tau: 2, Batch: 8, Rho: 1, Gain: 0.75, Eta: []float64{1},
			Mu: []float64{0.6}, Estimator: sdk.EstimatorCentered, Seed: 5},
		Privacy: sdk.Privacy{Clip: 0.2, Sigma: 0.5, Delta: 1e-5},
	}
	tr, err := newTrial(files, fleet, func(i int) string {
		return fmt.Sprintf(`{"builtin": {"model": "softmax", "data": "synthetic:clinical", "seed": 5, "fit": "own", `+
			`"share": {"partition": "dirichlet:0.3", "of": 3, "number": %d}}}`, i)
	}, boardGateway)
	if err != nil {
		return err
	}
	initrd := filepath.Join(tmp, "initrd.gz")
	if err := writeInitrd(initrd, dir, arm, iot, files); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), boardPatience)
	defer cancel()
	outcomes := make(map[string][]byte)
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	keep := func(name string, out []byte, err error) {
		mu.Lock()
		defer mu.Unlock()
		outcomes[name] = out
		errs = append(errs, err)
		if err != nil {
			cancel() // the others would wait for it
		}
	}
	for _, name := range fleet.Members[1:] {
		all.Go(func() {
			cmd := exec.CommandContext(ctx, here, "run", tr.path(name+".json"), "-json")
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			if err != nil {
				err = fmt.Errorf("member %s: %w\n%s", name, err, said.String())
			}
			keep(name, out, err)
		})
	}
	var console []byte
	all.Go(func() {
		var err error
		console, err = emulateBoard(ctx, dir, initrd)
		keep("a", between(console, "BOARD-OUTCOME", "BOARD-PEAK"), err)
	})
	begin := time.Now()
	all.Wait()
	os.Stdout.Write(console)
	for _, name := range fleet.Members {
		var got struct {
			Rounds int    `json:"rounds"`
			Done   bool   `json:"done"`
			Model  string `json:"model_sha256"`
		}
		if err := json.Unmarshal(outcomes[name], &got); err != nil {
			errs = append(errs, fmt.Errorf("member %s has no outcome: %w", name, err))
		} else if !got.Done || got.Rounds != 30 {
			errs = append(errs, fmt.Errorf("member %s has made %d releases (done: %t), want 30", name, got.Rounds, got.Done))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Printf("three members, one of them on the board, have made all of 30 releases; with examples/iot there "+
		"afterwards, and boot, in %.0f s\n", time.Since(begin).Seconds())
	var peak int
	if _, err := fmt.Sscanf(string(between(console, "BOARD-IOT", "BOARD-END")), "\nVmHWM: %d kB", &peak); err != nil {
		return fmt.Errorf("what examples/iot took on the board: %w", err)
	}
	fmt.Printf("examples/iot: %d KiB resident at most, limit %d\n", peak, boardIoT)
	if peak > boardIoT {
		return fmt.Errorf("examples/iot took %d KiB on the board, want at most %d", peak, boardIoT)
	}
	return nil
}

// between returns what is between two lines.
func between(text []byte, from, to string) []byte {
	_, rest, _ := bytes.Cut(text, []byte(from))
	inner, _, _ := bytes.Cut(rest, []byte(to))
	return inner
}

// emulateBoard boots the board and returns what it has said, when it has switched itself off.
func emulateBoard(ctx context.Context, dir, initrd string) ([]byte, error) {
	kernels, err := filepath.Glob(filepath.Join(dir, "root/boot/vmlinuz-*"))
	if err != nil || len(kernels) == 0 {
		return nil, errors.Join(err, errors.New("no kernel in "+dir))
	}
	trees, err := filepath.Glob(filepath.Join(dir, "root/usr/lib/linux-image-*", boardTree))
	if err != nil || len(trees) == 0 {
		return nil, errors.Join(err, errors.New("no device tree in "+dir))
	}
	cmd := exec.CommandContext(ctx, "qemu-system-arm", "-M", "raspi1ap", "-kernel", kernels[0], "-dtb", trees[0],
		"-initrd", initrd,
		"-append", boardKernel, "-netdev", "user,id=n", "-device", "usb-net,netdev=n", "-serial", "stdio", "-display", "none",
		"-monitor", "none", "-no-reboot")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || !bytes.Contains(out, []byte("BOARD-END")) {
		err = errors.Join(err, fmt.Errorf("the board did not come to its end\n%s", said.String()))
	}
	return bytes.ReplaceAll(out, []byte("\r"), nil), err
}

// fetchBoard downloads the two packages with apt, beside the system's own lists, and unpacks them.
func fetchBoard(dir string) error {
	if exists(filepath.Join(dir, "root/bin/busybox")) {
		return nil
	}
	script := `set -e
mkdir -p "$1" && cd "$1"
mkdir -p state/lists/partial cache/archives/partial debs root
: >status
echo 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main' ` +
		`>sources.list
o="-o Dir::State=$PWD/state -o Dir::Cache=$PWD/cache -o Dir::Etc::sourcelist=$PWD/sources.list -o ` +
		`Dir::Etc::sourceparts=/dev/null
 -o APT::Architecture=armel -o APT::Architectures=armel -o Dir::State::status=$PWD/status"
apt-get $o update -qq
kernel=$(apt-cache $o depends linux-image-rpi | awk '/Depends: linux-image-6/{print $2; exit}')
cd debs
apt-get $o download -qq "$kernel" busybox-static
for d in *.deb; do dpkg-deb -x "$d" ../root; done
`
	cmd := exec.Command("sh", "-c", script, "sh", dir)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// writeInitrd makes the board's whole file system: busybox, drivers, the program, and the files of the fleet.
func writeInitrd(path, dir, bin, iot, fleet string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	zip := gzip.NewWriter(f)
	a := &archive{w: zip}
	for _, d := range []string{"proc", "sys", "dev", "tmp", "bin", "modules", "fleet"} {
		a.add(d, 0o40755, nil)
	}
	a.add("init", 0o100755, []byte(boardInit))
	a.file("bin/busybox", filepath.Join(dir, "root/bin/busybox"))
	a.file("spade-edge", bin)
	a.file("iot", iot)
	for _, m := range boardModules {
		var found []string
		for _, place := range []string{"char/hw_random", "net", "net/usb"} {
			list, err := filepath.Glob(filepath.Join(dir, "root/lib/modules/*/kernel/drivers", place, m+".ko"))
			if err != nil {
				return err
			}
			found = append(found, list...)
		}
		if len(found) != 1 {
			return fmt.Errorf("driver %s: found %q, want one", m, found)
		}
		a.file("modules/"+m+".ko", found[0])
	}
	err = filepath.WalkDir(fleet, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			a.file("fleet/"+d.Name(), path)
		}
		return err
	})
	a.add("TRAILER!!!", 0, nil)
	return errors.Join(err, a.err, zip.Close())
}

// archive writes cpio in the form "newc", which is what a kernel unpacks.
type archive struct {
	w   io.Writer
	err error
	n   int
}

func (a *archive) file(name, from string) {
	data, err := os.ReadFile(from)
	a.err = errors.Join(a.err, err)
	mode := 0o100755
	if strings.HasPrefix(name, "fleet/") {
		mode = 0o100600 // a key must be its owner's alone
	}
	a.add(name, mode, data)
}

func (a *archive) add(name string, mode int, data []byte) {
	a.n++
	head := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00", a.n, mode, 0, 0, 1, 0,
		len(data), 0, 0, 0, 0, len(name)+1, 0, name)
	pad := func(n int) string { return "\x00\x00\x00"[:(4-n%4)%4] }
	for _, part := range []string{head, pad(len(head)), string(data), pad(len(data))} {
		if _, err := io.WriteString(a.w, part); a.err == nil {
			a.err = err
		}
	}
}
