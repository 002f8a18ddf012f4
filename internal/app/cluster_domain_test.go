package app

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDetectClusterDomain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"the kubelet's search list names it": {
			"nameserver 198.19.0.10\nsearch app.svc.corp.example svc.corp.example corp.example\n", "corp.example",
		},
		"without one the usual is assumed": {"nameserver 198.19.0.10\n", "cluster.local"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "resolv.conf")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := detectClusterDomain(path); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := detectClusterDomain(filepath.Join(t.TempDir(), "none")); got != "cluster.local" {
		t.Errorf("without a file: %q", got)
	}
}
