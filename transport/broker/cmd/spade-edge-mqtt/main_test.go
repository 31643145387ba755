package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
	"github.com/spade-dfl/spade-edge/transport/broker/mqtt"
)

const secret = "s3cr3t"

func call(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	var out brokertest.Buffer
	code = overMQTT.Run(t.Context(), args, &out, &out)
	if strings.Contains(out.String(), secret) {
		t.Errorf("a password in\n%s", out.String())
	}
	return code, out.String()
}

// newBroker starts Mosquitto with the given configuration and returns the broker's address.
func newBroker(t *testing.T, conf string) string {
	t.Helper()
	url, _ := stoppableBroker(t, conf)
	return url
}

func stoppableBroker(t *testing.T, conf string) (url string, stop func()) {
	t.Helper()
	program := brokertest.Mosquitto(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	path := filepath.Join(t.TempDir(), "mosquitto.conf")
	text := fmt.Sprintf("user root\nlistener %d 127.0.0.1\n%s\n", l.Addr().(*net.TCPAddr).Port, conf)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-c", path)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() { _ = c.Process.Kill(); _ = c.Wait() }
	t.Cleanup(stop)
	brokertest.Listens(t, at)
	return "mqtt://" + at, stop
}

// newFleet creates a fleet of three private nodes with the command "spade-edge init" and writes the broker's URL into
// their node files.
func newFleet(t *testing.T, url string) (dir string, node func(i int) string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "pumps")
	if code, said := call(t, "init", dir, "-n", "3", "-mqtt", url, "-rounds", "3", "-cooldown", "2"); code != 0 ||
		!strings.Contains(said, "spade-edge-mqtt run "+filepath.Join(dir, "node-0", "node.json")) {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	return dir, func(i int) string { return filepath.Join(dir, "node-"+strconv.Itoa(i), "node.json") }
}

// TestInit checks that a private fleet created by "spade-edge init -mqtt" runs unchanged with a broker that has users
// and the access list from the README.
func TestInit(t *testing.T) {
	dir := t.TempDir()
	passwords, list := filepath.Join(dir, "passwords"), filepath.Join(dir, "acl")
	for i := range 3 {
		args := []string{"-b", passwords, mqtt.ClientID("pumps", "node-"+strconv.Itoa(i)), secret}
		if i == 0 {
			args = append([]string{"-c"}, args...)
		}
		if text, err := exec.Command("mosquitto_passwd", args...).CombinedOutput(); err != nil {
			t.Skipf("mosquitto_passwd: %v %s", err, text)
		}
	}
	readme, err := os.ReadFile("../../mqtt/README.md")
	if err != nil {
		t.Fatal(err)
	}
	patterns := regexp.MustCompile(`(?m)^    pattern .*$`).FindAllString(string(readme), -1)
	if len(patterns) != 2 {
		t.Fatalf("patterns in README.md: %q", patterns)
	}
	if err := os.WriteFile(list, []byte(strings.ReplaceAll(strings.Join(patterns, "\n"), "    ", "")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := newBroker(t, "password_file "+passwords+"\nacl_file "+list)
	_, node := newFleet(t, url)
	for i := range 3 {
		text, err := os.ReadFile(node(i))
		if err != nil {
			t.Fatal(err)
		}
		login := mqtt.ClientID("pumps", "node-"+strconv.Itoa(i)) + ":" + secret
		if err := os.WriteFile(filepath.Join(filepath.Dir(node(i)), "broker.txt"), []byte(login), 0o600); err != nil {
			t.Fatal(err)
		}
		change := regexp.MustCompile(`"mqtt": "[^"]*"`)
		text = change.ReplaceAll(text, []byte(`${0}, "user_file": "broker.txt"`))
		if err := os.WriteFile(node(i), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, said := call(t, "check", node(i)); code != 0 || !strings.Contains(said, "lets this node connect, publish and read") {
			t.Errorf("check: exit code %d\n%s", code, said)
		}
	}
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			var out, log bytes.Buffer
			code := overMQTT.Run(t.Context(), []string{"run", "-anyway", node(i), "-json"}, &out, &log)
			var got device.Outcome
			if err := json.Unmarshal(out.Bytes(), &got); code != 0 || err != nil || got.Rounds != 5 || !got.Done ||
				got.NonPrivate || got.Certificate == "" || strings.Contains(log.String(), secret) {
				t.Errorf("node %d: exit code %d, %+v, %v\n%s", i, code, got, err, log.String())
			}
		})
	}
	all.Wait()
}

// TestBrokerGone checks that the status of a node blames a stopped broker, and not its neighbors.
func TestBrokerGone(t *testing.T) {
	url, stop := stoppableBroker(t, "allow_anonymous true")
	_, node := newFleet(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log brokertest.Buffer
	over := make(chan int, 1)
	go func() { over <- overMQTT.Run(ctx, []string{"run", "-anyway", node(0)}, io.Discard, &log) }()
	await := func(want string) {
		t.Helper()
		said := ""
		brokertest.Eventually(t, want, func() bool {
			_, said = call(t, "status", node(0))
			return regexp.MustCompile(want).MatchString(said)
		})
		if strings.Contains(said, "other node") || strings.Contains(said, "the node is not running") {
			t.Errorf("a neighbor is blamed in\n%s", said)
		}
	}
	await(`"node-1": connected for .*\(at mqtt://127.*\), not heard since this node started`)
	stop()
	// trouble 'nothing listens at 127.0.0.1:1883 (connection refused): the broker is not running'
	await(`"node-1": not connected for .*\(nothing listens at 127\.0\.0\.1:\d+ \(connection refused\): the broker is not running, ` +
		`or its address is wrong\), lost once \(the connection to the broker broke\)`)
	cancel()
	<-over
}

// TestWrong checks that the commands "run" and "check" of spade-edge-mqtt report errors in the command line, errors in
// files and errors that the broker returns, and have no other effect.
func TestWrong(t *testing.T) {
	dir, node := newFleet(t, newBroker(t, "allow_anonymous false"))
	text, err := os.ReadFile(node(0))
	if err != nil {
		t.Fatal(err)
	}
	place := regexp.MustCompile(`"mqtt": "[^"]*"`).FindString(string(text))
	edit := func(to string) string {
		t.Helper()
		path := filepath.Join(dir, "node-0", "changed.json")
		if err := os.WriteFile(path, bytes.Replace(text, []byte(place), []byte(to), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, content := range map[string]string{"one": secret, "open": "joe:" + secret, "good": "joe:" + secret} {
		mode := os.FileMode(0o600)
		if name == "open" {
			mode = 0o644
		}
		path := filepath.Join(dir, "node-0", name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		command, to, want string
		code              int
	}{
		{"run", `"nats": "tls://x"`, "transport.mqtt is missing, want", 64},
		{"run", `"mqtt": "nats://x"`, "transport.mqtt is not of the form tls://host:port", 64},
		{"run", `"mqtt": "mqtt://joe:` + secret + `@x"`, "contains a user name", 64},
		{"run", place + `, "user_file": "none"`, "transport.user_file: ", 64},
		{"check", place + `, "user_file": "one"`, "want one line of the form user:password", 64},
		{"check", place + `, "user_file": "open"`, "chmod 600 ", 64},
		{"check", `"mqtt": "tls://x", "ca_file": "one"`, "has no PEM certificate", 64},
		{"check", `"mqtt": "tls://x", "certificate_file": "one", "certificate_key_file": "good"`, "transport.certificate_key_file: ", 64},
		{"check", place + `, "token_file": "one"`, "token_file", 64},
		{"check", place, "not authorized", 1},
		{"check", place + `, "user_file": "good"`, "not authorized", 1},
		{"check", `"mqtt": "mqtt://127.0.0.1:1"`, "not reachable (yet): mqtt://127.0.0.1:1", 0},
	} {
		if code, said := call(t, c.command, edit(c.to)); code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%s, %s: exit code %d, want %d with %q\n%s", c.command, c.to, code, c.code, c.want, said)
		}
	}
}

// TestStatus checks that a node whose two neighbors have not started connects to the broker, reports its status, and
// stops when asked.
func TestStatus(t *testing.T) {
	_, node := newFleet(t, newBroker(t, "allow_anonymous true"))
	var log brokertest.Buffer
	over := make(chan int, 1)
	go func() {
		over <- overMQTT.Run(t.Context(), []string{"run", "-anyway", node(0), "-json"}, io.Discard, &log)
	}()
	for _, want := range []string{"connected for ", "mqtt://127.0.0.1", `waiting for "node-1"`} {
		said := ""
		for end := time.Now().Add(brokertest.Soon); !strings.Contains(said, want); _, said = call(t, "status", node(0)) {
			if time.Now().After(end) {
				t.Fatalf("no %q in\n%s\n%s", want, said, log.String())
			}
		}
	}
	if code, said := call(t, "stop", node(0)); code != 0 {
		t.Errorf("stop: exit code %d\n%s", code, said)
	}
	if <-over; !strings.Contains(log.String(), "stopped on request") {
		t.Errorf("run:\n%s", log.String())
	}
	file, err := fleetfile.ReadNode(node(0))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), mqtt.ClientID("pumps", file.Name)) {
		t.Errorf("the log does not say the client id:\n%s", log.String())
	}
}
