package jwt

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"
)

// Signer signs JSON Web Tokens.
type Signer struct {
	t   testing.TB
	key *ecdsa.PrivateKey
	id  string
}

// New makes a signer whose key has an ID.
func New(t testing.TB, id string) Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Signer{t, key, id}
}

// KeySet is the JSON Web Key Set of the signer.
func (s Signer) KeySet() string {
	s.t.Helper()
	public, err := s.key.PublicKey.Bytes()
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf(`{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","kid":%q,"x":%q,"y":%q}]}`,
		s.id, encode(public[1:33]), encode(public[33:]))
}

// Token is a token with claims. It is valid for an hour unless they say otherwise.
func (s Signer) Token(claims map[string]any) string {
	s.t.Helper()
	all := map[string]any{"exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	text := encode(s.json(map[string]string{"alg": "ES256", "typ": "JWT", "kid": s.id})) + "." + encode(s.json(all))
	sum := sha256.Sum256([]byte(text))
	r, z, err := ecdsa.Sign(rand.Reader, s.key, sum[:])
	if err != nil {
		s.t.Fatal(err)
	}
	return text + "." + encode(append(r.FillBytes(make([]byte, 32)), z.FillBytes(make([]byte, 32))...))
}

// Bearer is the value of an Authorization header with a token.
func (s Signer) Bearer(claims map[string]any) string {
	s.t.Helper()
	return "Bearer " + s.Token(claims)
}

func (s Signer) json(value any) []byte {
	s.t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }
