//go:build unix

package program

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/transport"
)

// suspect returns what a run finally reports about a suspect neighbor; tinytest and sdk/admm test how members become
// suspect.
func suspect(in admm.Influence) (int, string) {
	r := &node.RunResult{Outcome: device.Outcome{NonPrivate: true, Suspects: []string{`"b": ` + in.Suspicion()}}}
	var text strings.Builder
	r.Write(cli.Table{Writer: &text}, sdk.Method{}, false)
	return cli.ExitDone, text.String()
}

// hears starts a node once the others run and wait for it, and returns its output once that has all the words.
func hears(t *testing.T, words []string, file string, others ...string) (int, string) {
	t.Helper()
	for _, f := range others {
		start(t, "run", f).log.await(t, "waiting for")
	}
	p := start(t, "run", file)
	for _, w := range words { // the reason has a separate line if it was not known when the node began to wait
		p.log.await(t, w)
	}
	return goesOn, p.log.String()
}

func otherKey(t *testing.T) string {
	t.Helper()
	public, err := fleetfile.CreateKey(t.TempDir() + "/key")
	if err != nil {
		t.Fatal(err)
	}
	return transport.FormatKey(public)
}

var linkTroubles = map[string]provocation{
	"suspect ... set aside, for it does not give way: cut back in ... rounds": func(*testing.T, *bench) (int, string) {
		return suspect(admm.Influence{Aside: true, Clipped: 9})
	},
	"suspect ... set aside, for its releases up to ... have less noise in them than a member's": func(*testing.T, *bench) (int, string) {
		return suspect(admm.Influence{Aside: true, Still: 9})
	},
	"suspect ... release ... is farther from the start than any honest member goes": func(*testing.T, *bench) (int, string) {
		return suspect(admm.Influence{Outside: 3})
	},
	"a key file: ... no such file or directory": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.variant(t, "a.json", "a.key", "none.key"))
	},
	"key file ... has mode ..., want 0600: others can reach it; ...": func(t *testing.T, b *bench) (int, string) {
		b.plain.write(t, "open.key", readFile(t, b.plain.path("a.key")))
		if err := os.Chmod(b.plain.path("open.key"), 0o644); err != nil {
			t.Fatal(err)
		}
		return said("run", b.plain.variant(t, "a.json", "a.key", "open.key"))
	},
	"key file ... is not one PEM block ...": func(t *testing.T, b *bench) (int, string) {
		b.plain.write(t, "not.key", "hello")
		return said("run", b.plain.variant(t, "a.json", "a.key", "not.key"))
	},
	"the key of ... is ..., but the fleet file has ... for it": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.variant(t, "a.json", "a.key", "b.key"))
	},
	"listen is missing, want host:port: ... dials ..., which has an address in the fleet file; ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.variant(t, "b.json", `"listen": "`+b.plain.place(1)+`", `, ""))
	},
	"members[...].addresses is empty, and so is members[...].addresses, want an address of one of them: ...": func(t *testing.T, b *bench) (int, string) {
		lines := ""
		for _, m := range [][3]string{{"a", "", "a.key"}, {"b", "", "b.key"}, {"c", "c.example:7443", "c.key"}} {
			how := "-from"
			if m[0] == "c" {
				how = "-out"
			}
			_, line, _ := call("keygen", "-name", m[0], "-address", m[1], how, b.plain.path(m[2]))
			lines += line
		}
		b.plain.write(t, "nowhere.txt", lines)
		return said("init", b.plain.path("new"), "-members", b.plain.path("nowhere.txt"), "-graph", "complete", "-dim", "3")
	},
	`proxy http://... answers 407 to CONNECT ...: it wants a user and a password, but none are configured`: func(t *testing.T, b *bench) (int, string) {
		return refusedByProxy(t, b, "407 Who are you")
	},
	`proxy http://... answers 403 to CONNECT ...: it does not allow that; its operator must`: func(t *testing.T, b *bench) (int, string) {
		return refusedByProxy(t, b, "403 Filtered")
	},
	"credentials of a proxy ... has mode ..., want 0600: others can reach it; ...": func(t *testing.T, b *bench) (int, string) {
		if err := os.WriteFile(b.plain.path("proxy.txt"), []byte("me:secret"), 0o644); err != nil {
			t.Fatal(err)
		}
		return said("run", b.plain.variant(t, "a.json", `"name"`, `"proxy": "http://p:1", "proxy_credentials": "proxy.txt", "name"`))
	},
	"want wss://host:port/path: there is no mode without TLS": func(t *testing.T, b *bench) (int, string) {
		return said("fleet", "move", b.plain.variant(t, "fleet.json", "wss://", "ws://"), "-name", "a", "-address", "x:1")
	},
	"\"listen\" in the node file: listen tcp ...: bind: address already in use": func(t *testing.T, b *bench) (int, string) {
		busy, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer busy.Close()
		return said("run", b.plain.variant(t, "b.json", b.plain.place(1), busy.Addr().String(), "b.state", "b.other"))
	},
	"waiting for ... (not connected: ... connection refused)": func(t *testing.T, b *bench) (int, string) {
		return hears(t, []string{"waiting for", "connection refused"}, newTrial(t, "ab", nil).path("a.json"))
	},
	"presents the key ...; pinned for it: ...": func(t *testing.T, _ *bench) (int, string) {
		tr := newTrial(t, "ab", nil)
		key := transport.FormatKey(tr.file.Members[1].Keys[0])
		file := tr.variant(t, "fleet.json", key, otherKey(t))
		return hears(t, []string{"waiting for", "presents the key"}, tr.variant(t, "a.json", tr.path("fleet.json")[len(tr.dir)+1:], file[len(tr.dir)+1:]), tr.path("b.json"))
	},
	"our key ... is not pinned there: ...": func(t *testing.T, _ *bench) (int, string) {
		tr := newTrial(t, "ab", nil)
		file := tr.variant(t, "fleet.json", transport.FormatKey(tr.file.Members[0].Keys[0]), otherKey(t))
		return hears(t, []string{"waiting for", "is not pinned there"}, tr.path("a.json"), tr.variant(t, "b.json", "fleet.json", file[len(tr.dir)+1:]))
	},
	"every neighbor means another fleet: ... hello refused: ...": func(t *testing.T, _ *bench) (int, string) {
		tr := newTrial(t, "ab", nil)
		tr.other(t)
		tr.of(t, "b", "other.json")
		a := start(t, "run", tr.path("a.json"))
		start(t, "run", tr.path("b.json"))
		a.wait(t, cli.ExitMismatch)
		return cli.ExitMismatch, a.log.String()
	},
	"the fleet file is not taken over, everything stays as it was: ...": func(t *testing.T, _ *bench) (int, string) {
		tr := newTrial(t, "ab", nil)
		a := start(t, "run", tr.path("a.json"))
		a.log.await(t, "waiting for")
		tr.edit(t, "fleet.json", `"tau": 2`, `"tau": 3`)
		if err := a.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		a.log.await(t, "not taken over", "only keys and addresses may change")
		return goesOn, a.log.String()
	},
	"frame refused ... from=... err=...": func(t *testing.T, _ *bench) (int, string) {
		a := newTrial(t, "ab", nil).hearing(t, "junk")
		a.log.await(t, "frame refused")
		return goesOn, a.log.String()
	},
	"exiting before every neighbor confirmed completion": func(t *testing.T, _ *bench) (int, string) {
		tr := newTrial(t, "ab", nil)
		tr.both(t)
		tr.edit(t, "a.json", `"resend_seconds": 0.05`, `"resend_seconds": 0.05, "linger_seconds": 0.3`)
		again := start(t, "run", tr.path("a.json")) // and b is gone
		<-again.over
		return again.cmd.ProcessState.ExitCode(), again.log.String()
	},
}

var stateTroubles = map[string]provocation{
	"another process has the lock of the store in ...: stop that process, ...": func(t *testing.T, _ *bench) (int, string) {
		tr := newTrial(t, "ab", nil)
		start(t, "run", tr.path("a.json")).log.await(t, "waiting for")
		return said("run", tr.path("a.json"))
	},
	"... not a directory": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.variant(t, "a.json", "a.state", "a.key/state"))
	},
	"interrupted; run again to go on": func(t *testing.T, _ *bench) (int, string) {
		a := start(t, "run", newTrial(t, "ab", nil).path("a.json"))
		a.log.await(t, "waiting for")
		if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-a.over
		return a.cmd.ProcessState.ExitCode(), a.log.String()
	},
	"stopped, as asked; run again to go on": func(t *testing.T, _ *bench) (int, string) {
		tr := newTrial(t, "ab", nil)
		a := start(t, "run", tr.path("a.json"))
		a.log.await(t, "waiting for")
		if code, text := said("stop", tr.path("a.json")); code != cli.ExitDone {
			t.Fatal(text)
		}
		<-a.over
		return a.cmd.ProcessState.ExitCode(), a.log.String()
	},
	"no model yet: the node has made no release: ...": func(t *testing.T, b *bench) (int, string) {
		return said("export", b.plain.path("a.json"), "-out", b.plain.path("x.npy"))
	},
	"the state is another node's or another run's: ...": func(t *testing.T, b *bench) (int, string) {
		b.done(t)
		file := b.lone.variant(t, "fleet.json", `"tau": 2`, `"tau": 3`)
		return said("export", b.lone.variant(t, "a.json", "fleet.json", file[len(b.lone.dir)+1:]), "-out", b.lone.path("x.npy"))
	},
	"stored state of release ...: it is of a fleet with hash ..., want ...": func(t *testing.T, b *bench) (int, string) {
		b.done(t)
		file := b.lone.variant(t, "fleet.json", `"tau": 2`, `"tau": 3`)
		return said("run", b.lone.variant(t, "a.json", "fleet.json", file[len(b.lone.dir)+1:]))
	},
	"no state is left to continue from ...": func(t *testing.T, b *bench) (int, string) {
		b.done(t)
		copyAll(t, b.lone.path("a.state"), b.lone.path("torn.state"))
		b.lone.write(t, "torn.state/slot-0", "torn")
		b.lone.write(t, "torn.state/slot-1", "torn")
		return said("run", b.lone.variant(t, "a.json", "a.state", "torn.state"))
	},
	"the ledger has release ... of this run, and the stored state ends with ...: the state was set back; ...": func(t *testing.T, b *bench) (int, string) {
		b.done(t)
		return said("run", b.lone.variant(t, "a.json", "a.state", "lost.state"))
	},
	"... holds release ... of this node, whose own state ends with ...: the state was set back; ...": func(t *testing.T, _ *bench) (int, string) {
		tr, _ := broken(t)
		tr.remove(t, "b.state")
		tr.copyLedger(t, tr.path("saved"), tr.dir)
		p := start(t, "run", tr.path("b.json"))
		<-p.over
		return p.cmd.ProcessState.ExitCode(), p.log.String()
	},
	"no space left on device": func(*testing.T, *bench) (int, string) {
		var log strings.Builder
		code := run(context.Background(), []string{"version"}, full{}, &log)
		return code, log.String()
	},
}

// refusedByProxy checks a node's edges through a proxy that answers with a status.
func refusedByProxy(t *testing.T, b *bench, status string) (int, string) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, "HTTP/1.1 "+status+"\r\n\r\n")
		conn.Close()
	}))
	defer proxy.Close()
	code, text := said("check", "-edges", b.plain.variant(t, "a.json", `"name"`, `"proxy": "`+proxy.URL+`", "name"`))
	if code != cli.ExitDone {
		t.Errorf("exit code %d, want %d: the neighbor may be reached later", code, cli.ExitDone)
	}
	return goesOn, text
}
