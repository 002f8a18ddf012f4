package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// certificate writes the Secret of the listeners, which is not kept in the repository.
func certificate(t *testing.T) string {
	t.Helper()
	pair := fuzzobjects.KeyPairs()[0]
	secret, err := yaml.Marshal(&corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "cert"},
		Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: pair[0], corev1.TLSPrivateKeyKey: pair[1]},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(path, secret, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExplain has the output of each case in a golden file.
func TestExplain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		args   []string
		failed bool
	}{
		{"200-backend", []string{"http://shop.example.com/api/v2/cart"}, false},
		{"404-no-host", []string{"http://shoop.example.com/"}, true},
		{"404-no-rule", []string{"POST", "http://shop.example.com/api/v2/cart"}, true},
		{"404-unknown-parent", []string{"http://new.example.com/"}, true},
		{"421-misdirected", []string{"https://admin.example.com/", "--server-name", "shop.example.com"}, true},
		{"403-authorization", []string{"https://admin.example.com/", "--client", "192.0.2.1"}, true},
		{"429-possible", []string{"https://admin.example.com/", "--client", "10.1.2.3"}, false},
		{"500-broken-filter", []string{"http://shop.example.com/broken"}, true},
		{"500-broken-reference", []string{"http://shop.example.com/lost"}, true},
		{"503-no-endpoints", []string{"http://shop.example.com/users/1"}, true},
		{"503-direct-response", []string{"http://shop.example.com/down"}, true},
		{"301-redirect", []string{"http://shop.example.com/static/a.js?v=1"}, false},
		{"307-escaped-slash", []string{"http://shop.example.com/static%2Fa.js"}, false},
		{"200-preflight", []string{
			"OPTIONS", "http://shop.example.com/script", "-H", "Origin: https://app.example.com", "-H", "Access-Control-Request-Method: GET",
		}, false},
		{"closed-no-listener", []string{"https://shop.other.org/"}, true},
		{"closed-broken-listener", []string{"https://shop.example.com:8443/"}, true},
		{"json", []string{"POST", "http://shop.example.com/api/v2/cart", "-o", "json"}, true},
		{"yaml", []string{"http://shop.example.com/api/v2/cart", "-o", "yaml"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var output bytes.Buffer
			cmd := command()
			cmd.SetArgs(append([]string{"explain", "-f", "testdata/objects", "-f", certificate(t)}, test.args...))
			cmd.SetOut(&output)
			cmd.SetErr(&output)
			if err := cmd.Execute(); (err != nil) != test.failed || err != nil && !errors.Is(err, errFailed) {
				t.Errorf("the error is %v", err)
			}
			compare(t, filepath.Join("testdata", test.name+".txt"), output.String())
		})
	}
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path) //nolint:gosec // the test's own files
	if err != nil {
		t.Fatalf("%v; write it with: go test ./cmd/gwr -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (want -, got +); if that is right: go test ./cmd/gwr -update\n%s", path, diff)
	}
}

func TestWhatCannotBeExplained(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, args, want string }{
		{"no files", "explain http://a/", "no files"},
		{"no URL", "explain", "accepts between 1 and 2 arg"},
		{"a scheme", "explain ftp://a/ -f testdata/objects", "not http or https"},
		{"a header", "explain http://a/ -H x -f testdata/objects", "'name: value'"},
		{"a missing file", "explain http://a/ -f testdata/none", "no such file"},
		{"an output", "explain http://a/ -o xml -f testdata/objects", "text, json or yaml"},
		{"a client", "explain http://a/ --client x -f testdata/objects", "address of the client"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd := command()
			cmd.SetArgs(strings.Fields(test.args))
			cmd.SetOut(&bytes.Buffer{})
			cmd.SetErr(&bytes.Buffer{})
			if err := cmd.Execute(); err == nil || errors.Is(err, errFailed) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
