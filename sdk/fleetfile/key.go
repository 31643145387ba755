package fleetfile

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
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
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("fleetfile: key: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der})
	if err := create(path, text, 0o600); err != nil {
		return nil, err
	}
	return public, nil
}

const pemType = "PRIVATE KEY"

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
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
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
