package route

import (
	"regexp"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/resolve/header"
)

func TestOriginMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, allowed, origin string
		want                  bool
	}{
		{"an exact origin", "https://www.foo.com", "https://www.foo.com", true},
		{"case does not matter", "https://WWW.foo.com", "https://www.Foo.com", true},
		{"another scheme", "https://www.foo.com", "http://www.foo.com", false},
		{"another port", "https://www.foo.com", "https://www.foo.com:8443", false},
		{"the scheme's port said by the client", "https://www.foo.com", "https://www.foo.com:443", true},
		{"the scheme's port said by the route", "http://www.foo.com:80", "http://www.foo.com", true},
		{"a port", "http://www.foo.com:8080", "http://www.foo.com:8080", true},
		{"a port is needed", "http://www.foo.com:8080", "http://www.foo.com", false},
		{"a dot is a dot", "https://www.foo.com", "https://wwwxfoo.com", false},
		{"a wildcard stands for a label", "https://*.bar.com", "https://www.bar.com", true},
		{"and for several", "https://*.bar.com", "https://a.www.bar.com", true},
		{"not for none", "https://*.bar.com", "https://bar.com", false},
		{"not for a host that ends otherwise", "https://*.bar.com", "https://www.bar.com.evil.org", false},
		{"not across a port", "https://*.bar.com", "https://evil.org:1.bar.com", false},
		{"any host of a scheme", "https://*", "https://a.b.c", true},
		{"any host of a scheme, at its port", "https://*", "https://a.b.c:8443", false},
		{"any host at a port", "https://*:8443", "https://a.b.c:8443", true},
		{"any origin", "*", "http://a.b.c:12345", true},
		{"any origin, that of a file too", "*", "null", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := header.OriginMatch(c.allowed)
			if got := regexp.MustCompile(`\A(?:` + m.Value + `)\z`).MatchString(c.origin); got != c.want {
				t.Errorf("%q matches %q is %v, by %q", c.allowed, c.origin, got, m.Value)
			}
		})
	}
}

func TestExposedHeadersHaveNoWildcardBesideCredentials(t *testing.T) {
	t.Parallel()
	f := gwv1.HTTPCORSFilter{ExposeHeaders: []gwv1.HTTPHeaderName{"*", "x-a"}}
	if got := cors(&f).Expose; len(got) != 2 {
		t.Errorf("without credentials: %v", got)
	}
	f.AllowCredentials = new(true)
	if got := cors(&f).Expose; len(got) != 1 || got[0] != "x-a" {
		t.Errorf("with credentials: %v", got)
	}
	if got := cors(&f).MaxAge; got != 5 {
		t.Errorf("remembered for %d seconds, and the standard says 5", got)
	}
}
