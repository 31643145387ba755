package fleetfile

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"runtime"
)

// maxKeyFile bounds a key file; one has 119 bytes.
const maxKeyFile = 16 << 10

// CreateKey makes a node's secret key, keeps it in a new file that only its owner may read, and returns its public
// half. The file is PEM, PKCS #8 (RFC 8410), as "openssl genpkey -algorithm ed25519" writes it. An existing file is
// never replaced: a member's key cannot be restored.
func CreateKey(path string) (ed25519.PublicKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("fleetfile: key: %w", err)
	}
	der := append([]byte("\x30\x2e\x02\x01\x00"+secretIs), private.Seed()...)
	line := base64.StdEncoding.EncodeToString(der) // 64 characters
	text := "-----BEGIN " + pemType + "-----\n" + line + "\n-----END " + pemType + "-----\n"
	if err := create(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return public, nil
}

const pemType = "PRIVATE KEY"

// secretIs stands between a version and the 32 bytes of a secret: the identifier of Ed25519, and the heads of two
// nested byte strings (RFC 8410, section 7). Package x509 would add 100 KB to every program.
const secretIs = "\x30\x05\x06\x03\x2b\x65\x70" + "\x04\x22\x04\x20"

// parseSecret reads an Ed25519 key in PKCS #8. It ignores what other programs write after the secret, such as the
// public key.
func parseSecret(der []byte) (ed25519.PrivateKey, bool) {
	const head = 5 // of the sequence, and its version: 0, or 1 with a public key
	if len(der) < head || der[0] != 0x30 || int(der[1]) != len(der)-2 || der[2] != 0x02 || der[3] != 0x01 || der[4] > 1 {
		return nil, false
	}
	rest, ok := bytes.CutPrefix(der[head:], []byte(secretIs))
	if !ok || len(rest) < ed25519.SeedSize {
		return nil, false
	}
	return ed25519.NewKeyFromSeed(rest[:ed25519.SeedSize]), true
}

// ReadKey reads a secret key in the form that [CreateKey] writes. On systems with file modes it refuses a file that
// anybody but its owner may read or write.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	data, err := ReadFile(path, maxKeyFile, "a key file")
	if err != nil {
		return nil, err
	}
	if err := checkOwners(path, "key file", "the secret key", "make another key"); err != nil {
		return nil, err
	}
	block, rest := pem.Decode(data)
	if block == nil || block.Type != pemType || len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("fleetfile: key file %s is not one PEM block %q, want what keygen or openssl genpkey writes",
			path, pemType)
	}
	private, ok := parseSecret(block.Bytes)
	if !ok {
		return nil, fmt.Errorf("fleetfile: key file %s does not hold an Ed25519 key in PKCS #8 (RFC 8410)", path)
	}
	return private, nil
}

// checkOwners refuses a file that anybody but its owner may read or write, on systems with file modes.
func checkOwners(path, kind, secret, remedy string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("fleetfile: a %s: %w", kind, err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return fmt.Errorf("fleetfile: %s %s has mode %04o, want 0600: others can reach %s; "+
			"chmod 600 %s, or %s if somebody may have seen it", kind, path, mode, secret, path, remedy)
	}
	return nil
}
