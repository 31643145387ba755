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

// A knock is in the first message of a TLS handshake, among the protocols that the caller offers (RFC 7301), and shows
// before the costly part of the handshake that the caller holds a pinned key: a nonce, and the HMAC of it with a secret
// that only the two ends know. It lets nobody in, it only keeps a place; TLS proves the key as ever. An end that knows
// nothing of knocks overlooks them, and one that does not knock is a stranger until TLS has proved its key.
//
// The secret is X25519 of the two Ed25519 keys, see [endpoint.ExchangePublic].
const (
	knockPrefix = "spade-edge.1/"
	nonceLen    = 8
	knockLen    = nonceLen + 16 // before base64
	maxKnocks   = 4             // made and looked at in a handshake; a peer has a key or two
)

// seenKnocks is how many knocks are remembered. Each serves once: who overhears one cannot use it.
const seenKnocks = 1024

// knockSecret returns what two keys share; nil if the other one is no good for it.
func knockSecret(own ed25519.PrivateKey, other ed25519.PublicKey) []byte {
	private, err := endpoint.ExchangePrivate(own)
	if err != nil {
		return nil
	}
	public, err := endpoint.ExchangePublic(other)
	if err != nil {
		return nil
	}
	secret, err := private.ECDH(public)
	if err != nil {
		return nil
	}
	return secret
}

// knockOf returns nonce and HMAC of a knock. The keys of both ends are in it: it cannot be sent back.
func knockOf(secret, nonce []byte, from, to ed25519.PublicKey) []byte {
	mac := hmac.New(sha256.New, secret)
	for _, part := range [][]byte{[]byte("spade-edge knock"), from, to, nonce} {
		mac.Write(part)
	}
	return mac.Sum(slices.Clone(nonce))[:knockLen]
}

// knocks returns the protocols to offer when a peer is dialed. A proxy that ends TLS finds one that it knows, and goes
// on to where its key is reported.
func (t *Transport) knocks(p *peer) []string {
	all := []string{"http/1.1"}
	secrets := *p.secrets.Load()
	for i, key := range p.config.Load().Keys {
		if i < min(maxKnocks, len(secrets)) && secrets[i] != nil {
			nonce := make([]byte, nonceLen)
			rand.Read(nonce)
			knock := knockOf(secrets[i], nonce, t.public, key)
			all = append(all, knockPrefix+base64.RawURLEncoding.EncodeToString(knock))
		}
	}
	return all
}

// knocker returns the peer that has made one of the knocks among the protocols offered; nil if none has.
func (t *Transport) knocker(offered []string) *peer {
	var looked int
	for _, text := range offered {
		code, ok := strings.CutPrefix(text, knockPrefix)
		if !ok || len(code) != base64.RawURLEncoding.EncodedLen(knockLen) {
			continue
		}
		if looked++; looked > maxKnocks {
			return nil
		}
		knock, err := base64.RawURLEncoding.DecodeString(code)
		if err != nil {
			continue
		}
		for _, p := range t.sorted {
			secrets := *p.secrets.Load()
			for i, key := range p.config.Load().Keys {
				if i < len(secrets) && secrets[i] != nil &&
					hmac.Equal(knock, knockOf(secrets[i], knock[:nonceLen], key, t.public)) &&
					t.handshakes.first([knockLen]byte(knock)) {
					return p
				}
			}
		}
	}
	return nil
}
