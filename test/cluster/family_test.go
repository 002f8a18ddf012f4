package main

import (
	"os"
	"strings"
	"testing"
)

func TestFamily(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"ipv4": {"4", "4", "https://198.18.0.1:6443"},
		"ipv6": {"6", "6", "https://[2001:2::1]:6443"},
		"dual": {"4,6", "4", "https://198.18.0.1:6443"},
	} {
		f, err := parseFamily(text)
		if err != nil || f.list("4", "6") != want[0] || f.first("4", "6") != want[1] || f.api() != want[2] {
			t.Errorf("%s: %v, %s, %s, %s", text, err, f.list("4", "6"), f.first("4", "6"), f.api())
		}
	}
	if _, err := parseFamily("IPv6"); err == nil {
		t.Error("IPv6 is taken")
	}
}

func TestAClusterKeepsItsFamily(t *testing.T) {
	t.Parallel()
	l := layout{state: t.TempDir()}
	if l.family = l.readFamily(); l.family != ipv4 {
		t.Errorf("before there is a cluster: %s", l.family)
	}
	changed, err := l.withFamily("dual")
	if err != nil || changed.family != dual {
		t.Errorf("got %s, %v", changed.family, err)
	}
	for path, content := range map[string]string{l.path("pki"): "", l.path("family"): "dual"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l.family = l.readFamily()
	if _, err := l.withFamily("ipv6"); err == nil || !strings.Contains(err.Error(), "run down first") {
		t.Errorf("another family: %v", err)
	}
	if same, err := l.withFamily("dual"); err != nil || same.family != dual {
		t.Errorf("the same family: %s, %v", same.family, err)
	}
}

func TestCorefile(t *testing.T) {
	t.Parallel()
	const four, six = "5 IN A 198.18.0.1", "5 IN AAAA 2001:2::1"
	for f, want := range map[family]struct{ four, six bool }{ipv4: {four: true}, ipv6: {six: true}, dual: {four: true, six: true}} {
		got := renderCorefile(layout{family: f})
		if strings.Contains(got, four) != want.four || strings.Contains(got, six) != want.six {
			t.Errorf("%s: %s", f, got)
		}
	}
}
