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

// CreateKey makes a node's secret key, keeps it in a new file that only its owner may read, and returns its public half. The
// file is PEM, PKCS #8 (RFC 8410), as "openssl genpkey -algorithm ed25519" writes it. A file that is there already is never
// replaced: the key of a member cannot be had again.
func CreateKey(path string) (ed25519.PublicKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("fleetfile: key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("fleetfile: key: %w", err)
	}
	if err := create(path, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), 0o600); err != nil {
		return nil, err
	}
	return public, nil
}

const pemType = "PRIVATE KEY"

// ReadKey reads a secret key in the form that [CreateKey] writes. Where files have owners it refuses one that others than its
// owner may read or write.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	data, err := readLimited(path, maxKeyFile, "a key file")
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("fleetfile: a key file: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("fleetfile: key file %s has mode %04o, want 0600: others can reach the secret key; chmod 600 %s, or make another key if somebody may have seen it",
			path, mode, path)
	}
	block, rest := pem.Decode(data)
	if block == nil || block.Type != pemType || len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("fleetfile: key file %s is not one PEM block %q, want what keygen or openssl genpkey -algorithm ed25519 writes", path, pemType)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("fleetfile: key file %s: %w", path, err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("fleetfile: key file %s holds a %T, want an Ed25519 key", path, key)
	}
	return private, nil
}
