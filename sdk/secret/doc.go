// Package secret reads files with secrets, and makes the key of a device. A node that gets its key in another way
// does not link this package.
package secret

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/regular"
)

// maxKeyFile bounds the length of a key file in bytes; a typical key file has 119 bytes.
const maxKeyFile = 16 << 10

// CreateKey writes a node's new secret key to a new file that only its owner may read, and returns the public key. The
// file has the form that "openssl genpkey -algorithm ed25519" writes: PEM with PKCS #8 (RFC 8410). If the file exists,
// CreateKey fails.
func CreateKey(path string) (ed25519.PublicKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("secret: key: %w", err)
	}
	der, _ := x509.MarshalPKCS8PrivateKey(private) // every Ed25519 key has this form
	text := pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der})
	if err := regular.Create(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("secret: key: %w", err)
	}
	return public, nil
}

const pemType = "PRIVATE KEY"

// ReadKey reads a secret key from a file in the form that [CreateKey] writes, with the checks of [Read].
func ReadKey(path string) (ed25519.PrivateKey, error) {
	text, err := Read(path, "a key file")
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, fmt.Errorf("secret: key file %s is empty, because its making was interrupted: remove it, and make the key again", path)
	}
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != pemType || len(rest) > 0 {
		return nil, fmt.Errorf("secret: key file %s does not contain exactly one PEM block %q, want the output of "+
			"keygen or openssl genpkey", path, pemType)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("secret: key file %s does not hold an Ed25519 key in PKCS #8 (RFC 8410)", path)
	}
	return private, nil
}

// Read reads a file with a secret, of at most 16 KiB, and returns its content without surrounding white space.
// On systems with file modes it refuses a file that anyone but its owner can read or write. Errors name the kind of
// file and never contain its content.
func Read(path, kind string) (string, error) {
	data, err := regular.Read(path, maxKeyFile)
	if err != nil {
		return "", fmt.Errorf("secret: %s: %w", kind, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("secret: %s: %w", kind, err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf("secret: %s %s has mode %04o, want 0600, because other users can access it; run "+
			"chmod 600 %[2]s, and replace the file's content if another user may have read it", kind, path, mode)
	}
	return strings.TrimSpace(string(data)), nil
}
