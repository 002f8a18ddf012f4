package route

import (
	"slices"
	"testing"
)

func TestIntersect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, a, b, want string
	}{
		{"equal names meet", "a.example.com", "a.example.com", "a.example.com"},
		{"different names do not", "a.example.com", "b.example.com", ""},
		{"anything meets a name", "*", "a.example.com", "a.example.com"},
		{"anything meets anything", "*", "*", "*"},
		{"a wildcard takes a name below it", "*.example.com", "a.example.com", "a.example.com"},
		{"a wildcard takes several labels", "*.example.com", "a.b.example.com", "a.b.example.com"},
		{"a wildcard does not take its own suffix", "*.example.com", "example.com", ""},
		{"a wildcard does not take a longer word", "*.example.com", "badexample.com", ""},
		{"the narrower wildcard remains", "*.example.com", "*.a.example.com", "*.a.example.com"},
		{"order does not matter", "*.a.example.com", "*.example.com", "*.a.example.com"},
		{"wildcards apart do not meet", "*.example.com", "*.example.org", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got, _ := intersect(c.a, c.b); got != c.want {
				t.Errorf("intersect(%q, %q) = %q, want %q", c.a, c.b, got, c.want)
			}
		})
	}
}

func TestWiderListsEveryDomainThatCovers(t *testing.T) {
	t.Parallel()
	for domain, want := range map[string][]string{
		"a.b.example.com": {"a.b.example.com", "*.b.example.com", "*.example.com", "*.com", "*"},
		"*.example.com":   {"*.example.com", "*.com", "*"},
		"localhost":       {"localhost", "*"},
		"*":               {"*"},
	} {
		got := wider(domain)
		if !slices.Equal(got, want) {
			t.Errorf("wider(%q) = %q, want %q", domain, got, want)
		}
		for _, w := range got {
			if !covers(w, domain) {
				t.Errorf("%q is listed as wider than %q and does not cover it", w, domain)
			}
		}
	}
}
