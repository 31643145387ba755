package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

func call(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	var out logged
	code = run(t.Context(), args, &out, &out)
	return code, out.String()
}

// TestCommands checks that the commands for a device work before, during and after the run of a node that uses a
// broker.
func TestCommands(t *testing.T) {
	f := newFleet(t)
	has := func(want string, args ...string) {
		t.Helper()
		args[1] = f.path(args[1])
		if code, said := call(t, args...); code != exitDone || !strings.Contains(said, want) {
			t.Errorf("%q: exit code %d, no %q in\n%s", args, code, want, said)
		}
	}
	has("; the first member to run creates the stream", "check", "a.json")
	has("has not connected to the broker (yet)", "check", "a.json")
	has("it has released nothing", "status", "a.json")
	b := f.start(t, "b")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, words := range [][]string{
		{"status", "b.json", `waiting for "a", "c"`}, {"status", "b.json", "connected for "}, {"status", "b.json", "nats://127"},
		{"check", "a.json", "has the same fleet; its node started at "}, {"check", "a.json", "has a stream for the run"},
	} {
		for said := ""; !strings.Contains(said, words[2]); _, said = call(t, words[0], f.path(words[1])) {
			if ctx.Err() != nil {
				t.Fatalf("%q: %s", words, said)
			}
		}
	}
	has("has stopped after round 0 of 11", "stop", "b.json")
	<-b.over
	f.all(t)
	has("its run is done", "status", "a.json")
	model := f.path("a.npy")
	has("model_sha256 "+f.want(t)[0], "export", "a.json", "-out", model)
	if _, err := os.Stat(model); err != nil {
		t.Error(err)
	}
	if code, said := call(t, "check", "-h"); code != exitDone || !strings.HasPrefix(said, "usage: spade-edge-nats check NODEFILE") {
		t.Errorf("exit code %d\n%s", code, said)
	}
}

// TestNotPermitted checks that check and status say that the broker lets the node in, but not publish.
func TestNotPermitted(t *testing.T) {
	f := newFleet(t)
	url := brokerWith(t, server.Options{Users: []*server.User{{Username: "joe", Password: "x", Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{"$JS.API.>"}}, Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}}}}}})
	f.write(t, "user", "joe:x")
	node, err := os.ReadFile(f.path("b.json"))
	if err != nil {
		t.Fatal(err)
	}
	place, _, _ := strings.Cut(string(node[bytes.Index(node, []byte(`"nats://`))+1:]), `"`)
	f.write(t, "b.json", strings.Replace(string(node), `"`+place+`"`, `"`+url+`", "user_file": "user"`, 1))
	for _, when := range []string{"before", "during"} {
		// trouble 'cannot publish on spade.'
		if code, said := call(t, "check", f.path("b.json")); code != 1 || !strings.Contains(said, "fail  broker                 cannot publish on spade.") ||
			!strings.Contains(said, `Permissions Violation for Publish to "spade.`) {
			t.Errorf("check %s the run: exit code %d\n%s", when, code, said)
		}
		if when == "during" {
			break
		}
		b := f.start(t, "b")
		for end, said := time.Now().Add(time.Minute), ""; !strings.Contains(said, `"a": not connected for`) ||
			!strings.Contains(said, "cannot publish on spade.") || !strings.Contains(said, "Permissions Violation"); _, said = call(t, "status", f.path("b.json")) {
			if time.Now().After(end) {
				t.Fatalf("status:\n%s", said)
			}
		}
		defer func() { _, _ = call(t, "stop", f.path("b.json")); <-b.over }()
	}
}

// authority creates a self-signed certificate that the broker and its users share. The certificate is valid for
// 127.0.0.1.
func authority(t *testing.T, dir string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "all"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der},
		"cert.key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestCredentials checks that each authentication method works with secrets from a file that only its owner may read,
// that the broker refuses a node without these secrets, and that no output contains a secret.
func TestCredentials(t *testing.T) {
	const secret = "s3cr3t"
	f := newFleet(t)
	pair := authority(t, f.dir)
	pool := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(leaf)
	user, _ := nkeys.CreateUser()
	seed, _ := user.Seed()
	public, _ := user.PublicKey()
	f.write(t, "seed", string(seed)+"\n")
	f.write(t, "user", "joe:"+secret+"\n")
	f.write(t, "wrong", "joe:not"+secret)
	f.write(t, "token", secret)
	f.write(t, "two", secret+"\n"+secret)
	node, err := os.ReadFile(f.path("a.json"))
	if err != nil {
		t.Fatal(err)
	}
	place, _, _ := strings.Cut(string(node[bytes.Index(node, []byte(`"nats://`))+1:]), `"`)
	silent := func(text string) {
		t.Helper()
		for _, word := range []string{secret, string(seed)} {
			if strings.Contains(text, word) {
				t.Errorf("a secret in\n%s", text)
			}
		}
	}
	for _, test := range []struct {
		name, fields, wrong, why string // the field why is part of the error for the settings in the field wrong
		options                  server.Options
	}{
		{"nkey", `, "nkey_file": "seed"`, `, "nkey_file": "token"`, "transport.nkey_file: ",
			server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}}},
		{"user", `, "user_file": "user"`, `, "user_file": "wrong"`, "Authorization Violation",
			server.Options{Username: "joe", Password: secret}},
		{"one line", `, "user_file": "user"`, `, "user_file": "token"`, "want one line of the form user:password",
			server.Options{Username: "joe", Password: secret}},
		{"token", `, "token_file": "token"`, ``, "Authorization Violation", server.Options{Authorization: secret}},
		{"a line", `, "token_file": "token"`, `, "token_file": "two"`, "want exactly one line", server.Options{Authorization: secret}},
		{"certificate", `, "ca_file": "cert.pem", "certificate_file": "cert.pem", "certificate_key_file": "cert.key"`,
			`, "ca_file": "cert.pem"`, "certificate", server.Options{TLS: true, TLSVerify: true, TLSConfig: &tls.Config{
				Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}}},
		{"authority", `, "ca_file": "cert.pem"`, ``, "failed to verify certificate",
			server.Options{TLS: true, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}}},
		{"no pair", `, "ca_file": "cert.pem"`, `, "certificate_file": "cert.pem", "certificate_key_file": "seed"`,
			"transport.certificate_key_file: ", server.Options{TLS: true, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			at, err := url.Parse(brokerWith(t, test.options))
			if err != nil {
				t.Fatal(err)
			}
			at.User = nil
			if at.Scheme = "nats"; test.options.TLS {
				at.Scheme = "tls"
			}
			write := func(name, fields string) {
				f.write(t, name, strings.Replace(string(node), `"`+place+`"`, `"`+at.String()+`"`+fields, 1))
			}
			write("good.json", test.fields)
			write("bad.json", test.wrong)
			code, said := call(t, "check", f.path("good.json"))
			if silent(said); code != exitDone || !strings.Contains(said, "lets this node in") {
				t.Errorf("exit code %d\n%s", code, said)
			}
			code, said = call(t, "check", f.path("bad.json"))
			if silent(said); code == exitDone || !strings.Contains(said, test.why) {
				t.Errorf("exit code %d, no %q in\n%s", code, test.why, said)
			}
		})
	}
	if runtime.GOOS == "windows" {
		return
	}
	for field, file := range map[string]string{"nkey_file": "seed", "user_file": "user", "token_file": "token",
		"credentials": "wrong", `certificate_file": "cert.pem", "certificate_key_file`: "cert.key"} {
		f.write(t, "open.json", strings.Replace(string(node), `"`+place+`"`, `"tls://x", "`+field+`": "`+file+`"`, 1))
		if err := os.Chmod(f.path(file), 0o640); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"run", "check"} {
			code, said := call(t, command, f.path("open.json"))
			if silent(said); code != exitUsage || !strings.Contains(said, "chmod 600 "+f.path(file)) {
				t.Errorf("%s, %s: exit code %d\n%s", command, field, code, said)
			}
		}
	}
}
