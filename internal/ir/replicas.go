package ir

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"errors"
	"fmt"
)

// Everywhere else a [Sensitive] value prints itself as redacted text, and nothing reads that as a secret. The functions below are the only
// ones that reveal secrets. Replicas of the control plane hand them to each other, over TLS and to callers with a token of their own
// ServiceAccount; they read the same Secrets anyway. Whatever these functions return must not reach a log, dump, metric or status.

// revealed writes secrets as base64. No text that stands for a secret elsewhere is base64.
var revealed = jsonv2.MarshalToFunc(func(out *jsontext.Encoder, s Sensitive) error { return jsonv2.MarshalEncode(out, []byte(s)) })

// parsedCEL is a [CEL] with what it is read as. Replicas of another release may read its text otherwise.
type parsedCEL struct {
	Text string
	Expr []byte
}

var (
	forReplicas = jsonv2.JoinOptions(json.DefaultOptionsV1(), jsonv2.WithMarshalers(jsonv2.JoinMarshalers(revealed,
		jsonv2.MarshalToFunc(func(out *jsontext.Encoder, c CEL) error { return jsonv2.MarshalEncode(out, parsedCEL(c)) }))))
	fromReplica = jsonv2.JoinOptions(json.DefaultOptionsV1(), jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(
		jsonv2.UnmarshalFromFunc(readSensitive), jsonv2.UnmarshalFromFunc(readCEL))))
	withSecrets = jsonv2.JoinOptions(json.DefaultOptionsV1(), jsonv2.WithMarshalers(revealed))
)

// errNotOfReplica has no part of what was read.
var errNotOfReplica = errors.New("it is not as replicas encode it")

func readSensitive(in *jsontext.Decoder, s *Sensitive) error {
	var secret []byte
	if err := jsonv2.UnmarshalDecode(in, &secret); err != nil || secret == nil {
		return errNotOfReplica
	}
	*s = Sensitive(secret)
	return nil
}

func readCEL(in *jsontext.Decoder, c *CEL) error {
	var parsed parsedCEL
	if err := jsonv2.UnmarshalDecode(in, &parsed); err != nil || len(parsed.Expr) == 0 {
		// Proxies would take it for a condition that is never true.
		return errNotOfReplica
	}
	*c = CEL(parsed)
	return nil
}

// EncodeForReplicas encodes a value for other replicas, with its secrets. It is JSON with the same bytes for the same value.
func EncodeForReplicas(value any) ([]byte, error) {
	text, err := jsonv2.Marshal(value, forReplicas)
	if err != nil {
		return nil, fmt.Errorf("encode a %T for other replicas: %w", value, err)
	}
	return text, nil
}

// DecodeFromReplica is the inverse of [EncodeForReplicas]. It fails if a secret is redacted. The error has no part of the text.
func DecodeFromReplica(text []byte, into any) error {
	if jsonv2.Unmarshal(text, into, fromReplica) != nil {
		return fmt.Errorf("decode a %T of another replica: %w", into, errNotOfReplica)
	}
	return nil
}

// DigestWithSecrets returns a digest of a value that differs if only a secret does. It is the same in every replica, so it has no key: who
// knows the rest of the value can try passwords until the digest fits. Only replicas may see it. CEL expressions count by their text, and
// values without secrets by their JSON.
func DigestWithSecrets(value any) string {
	sum := sha256.New()
	if jsonv2.MarshalWrite(sum, value, withSecrets) != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
