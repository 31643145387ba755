package ws

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// A caller sends a pre-authentication token as one of the protocols that it offers in its first TLS message (RFC 7301).
// A token consists of a nonce and its HMAC under a secret that only the two ends know: the X25519 shared secret of
// their Ed25519 keys. Before the expensive part of the handshake, the token shows that the caller has a pinned key, and
// reserves one of the peer's places. TLS must still prove the key. Without a token, a caller is treated as a stranger
// until TLS has proved its key.
const (
	tokenPrefix = "spade-edge.1/"
	nonceLen    = 8
	tokenLen    = nonceLen + 16 // length in bytes before base64
	maxTokens   = 4             // tokens checked in one handshake; a peer sends one or two
)

// seenTokens is the number of accepted tokens that a node remembers. Each token is accepted only once, so an
// intercepted token is useless.
const seenTokens = 1024

// tokenSecret returns the secret that the owners of the two keys share, or nil if one of the keys is invalid.
func tokenSecret(own ed25519.PrivateKey, other ed25519.PublicKey) []byte {
	public, err := endpoint.ExchangePublic(other)
	if err != nil {
		return nil
	}
	secret, _ := endpoint.ExchangePrivate(own).ECDH(public) // nil after an error
	return secret
}

// tokenOf returns a caller's token: the nonce followed by its HMAC. The HMAC also covers the public keys of the caller
// and the other end, in this order. So the other end cannot reuse the token for its own calls.
func tokenOf(secret, nonce []byte, from, to ed25519.PublicKey) []byte {
	mac := hmac.New(sha256.New, secret)
	for _, part := range [][]byte{[]byte("spade-edge token"), from, to, nonce} {
		mac.Write(part)
	}
	return mac.Sum(slices.Clone(nonce))[:tokenLen]
}

// tokens returns the protocols to offer when dialing a peer: the tokens, and a well-known protocol. A proxy that
// terminates TLS accepts the well-known protocol, so the handshake continues until this node sees the proxy's key and
// can report it.
func (t *Transport) tokens(p *peer) []string {
	all := []string{"http/1.1"}
	c := p.config.Load()
	for i, secret := range c.secrets {
		if secret != nil {
			nonce := make([]byte, nonceLen)
			rand.Read(nonce)
			token := tokenOf(secret, nonce, t.public, c.Keys[i])
			all = append(all, tokenPrefix+base64.RawURLEncoding.EncodeToString(token))
		}
	}
	return all
}

// tokenOwner returns the peer that made one of the offered tokens, or nil if no token is valid.
func (t *Transport) tokenOwner(offered []string) *peer {
	var looked int
	for _, text := range offered {
		code, ok := strings.CutPrefix(text, tokenPrefix)
		if !ok || len(code) != base64.RawURLEncoding.EncodedLen(tokenLen) {
			continue
		}
		if looked++; looked > maxTokens {
			return nil
		}
		token, err := base64.RawURLEncoding.DecodeString(code)
		if err != nil {
			continue
		}
		for _, p := range t.sorted {
			c := p.config.Load()
			for i, secret := range c.secrets {
				if secret != nil && hmac.Equal(token, tokenOf(secret, token[:nonceLen], c.Keys[i], t.public)) &&
					t.handshakes.first([tokenLen]byte(token)) {
					return p
				}
			}
		}
	}
	return nil
}
