package ir_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

// withSecrets is a policy with values that no dump has. Not all of them are text.
func withSecrets() *ir.RequestPolicy {
	return &ir.RequestPolicy{
		BasicAuth:  &ir.BasicAuth{Users: "ali:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="},
		APIKeyAuth: &ir.APIKeyAuth{Keys: []ir.APIKey{{Client: "one", Key: "k<1>"}, {Client: "two", Key: "(redacted)"}}},
		Auth:       &ir.ExternalAuth{Context: []ir.ContextValue{{Name: "tenant", Value: "\xff\x00\n", Secret: true}}},
		Authorization: []ir.Authorization{{
			Rules: []ir.AuthorizationRule{{Name: "a", CEL: &ir.CEL{Text: "request.path == '/x'", Expr: []byte("\x01\xff")}}},
		}},
	}
}

func TestReplicasReadSecretsAsTheyWere(t *testing.T) {
	t.Parallel()
	text, err := ir.EncodeForReplicas(withSecrets())
	if err != nil {
		t.Fatal(err)
	}
	read := &ir.RequestPolicy{}
	if err := ir.DecodeFromReplica(text, read); err != nil || !reflect.DeepEqual(read, withSecrets()) {
		t.Errorf("%s is read as %+v, %v", text, read, err)
	}
	again, err := ir.EncodeForReplicas(read)
	if err != nil || !bytes.Equal(again, text) {
		t.Errorf("written again as %s, %v", again, err)
	}
}

// TestOnlyReplicasReadSecrets prints a policy in all other ways, which may be those of dumps and logs.
func TestOnlyReplicasReadSecrets(t *testing.T) {
	t.Parallel()
	p := withSecrets()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for how, printed := range map[string]string{
		"JSON": string(text), "%v": fmt.Sprintf("%v %+v", p.BasicAuth, p.BasicAuth), "%#v": fmt.Sprintf("%#v", p.BasicAuth),
		"%s": string(fmt.Appendf(nil, "%s %q %x", p.BasicAuth.Users, p.BasicAuth.Users, p.BasicAuth.Users)),
	} {
		for _, secret := range []string{"W6ph5Mm5Pz8GgiULbPgzG37mj9g", "k<1>", "YWxpO", fmt.Sprintf("%x", "ali:")} {
			if strings.Contains(printed, secret) {
				t.Errorf("printed by %s as %s", how, printed)
			}
		}
	}
}

// TestWhatIsNotOfAReplicaIsNotRead has what dumps say, and what earlier releases send to replicas. What is said of it has no secrets.
func TestWhatIsNotOfAReplicaIsNotRead(t *testing.T) {
	t.Parallel()
	dump, err := json.Marshal(withSecrets())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		string(dump),
		`{"BasicAuth": {"Users": "(redacted)"}}`,
		`{"BasicAuth": {"Users": "hush hush"}}`,
		`{"BasicAuth": {"Users": null}}`,
		`{"BasicAuth": {"Users": ["aHVzaA=="]}}`,
		`{"Authorization": [{"Rules": [{"CEL": {"Text": "hush"}}]}]}`,
		`{"Authorization": [{"Rules": [{"CEL": {"Text": "hush", "Expr": ""}}]}]}`,
		`{"BasicAuth": {"Users": "aHVzaA==`,
	} {
		read := &ir.RequestPolicy{}
		if err := ir.DecodeFromReplica([]byte(text), read); err == nil {
			t.Errorf("%s is read", text)
		} else if strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "aHVz") {
			t.Errorf("an error has a secret: %v", err)
		}
	}
}

func TestDigestsDependOnSecrets(t *testing.T) {
	t.Parallel()
	changed := func(change func(p *ir.RequestPolicy)) *ir.RequestPolicy {
		p := withSecrets()
		change(p)
		return p
	}
	digest := ir.DigestWithSecrets(withSecrets())
	if len(digest) != 32 || digest != ir.DigestWithSecrets(withSecrets()) {
		t.Errorf("the digest is %q", digest)
	}
	for name, p := range map[string]*ir.RequestPolicy{
		"a password":      changed(func(p *ir.RequestPolicy) { p.BasicAuth.Users = "ali:{SHA}X6ph5Mm5Pz8GgiULbPgzG37mj9g=" }),
		"an API key":      changed(func(p *ir.RequestPolicy) { p.APIKeyAuth.Keys[0].Key = "k<2>" }),
		"bytes":           changed(func(p *ir.RequestPolicy) { p.Auth.Context[0].Value = "\xfe\x00\n" }),
		"a CEL condition": changed(func(p *ir.RequestPolicy) { p.Authorization[0].Rules[0].CEL.Text = "true" }),
	} {
		if ir.DigestWithSecrets(p) == digest {
			t.Errorf("with %s that differs, the digest is the same", name)
		}
	}
	// Replicas of earlier releases know values without secrets by the digest of their JSON.
	plain := ir.Rule{Name: "a<b>", Policy: &ir.RequestPolicy{Authorization: withSecrets().Authorization}}
	text, err := json.Marshal(plain)
	if sum := sha256.Sum256(text); err != nil || ir.DigestWithSecrets(plain) != hex.EncodeToString(sum[:16]) {
		t.Errorf("the digest of %s is %s, %v", text, ir.DigestWithSecrets(plain), err)
	}
	// Another release may read the same text otherwise.
	if p := changed(func(p *ir.RequestPolicy) { p.Authorization[0].Rules[0].CEL.Expr = nil }); ir.DigestWithSecrets(p) != digest {
		t.Error("the digest depends on what a CEL expression is read as")
	}
}
