package route

import (
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// anyHost is the domain that every hostname matches.
const anyHost = "*"

// covers says whether every hostname that domain stands for is also one that pattern stands for. `*.a` stands for one or more labels
// in front of `.a`, not for `a` itself.
func covers(pattern, domain string) bool {
	switch {
	case pattern == anyHost || pattern == domain:
		return true
	case !strings.HasPrefix(pattern, "*."):
		return false
	default:
		return domain != anyHost && strings.HasSuffix(strings.TrimPrefix(domain, "*"), pattern[1:])
	}
}

// intersect returns the narrower of two hostnames when one covers the other.
func intersect(a, b string) (string, bool) {
	switch {
	case covers(a, b):
		return b, true
	case covers(b, a):
		return a, true
	default:
		return "", false
	}
}

// hosts intersects a route's hostnames with a listener's. A route without hostnames takes the listener's.
func hosts(listener string, hostnames []gwv1.Hostname) []Host {
	if listener == "" {
		listener = anyHost
	}
	if len(hostnames) == 0 {
		return []Host{{Domain: listener, Original: anyHost}}
	}
	var found []Host
	for _, h := range hostnames {
		original := strings.ToLower(string(h))
		if domain, ok := intersect(listener, original); ok {
			found = append(found, Host{Domain: domain, Original: original})
		}
	}
	return found
}

// wider lists the domains that cover a domain, itself first, each wider than the one before.
func wider(domain string) []string {
	list := []string{domain}
	rest := strings.TrimPrefix(domain, "*.")
	for {
		_, suffix, found := strings.Cut(rest, ".")
		if !found {
			break
		}
		list = append(list, "*."+suffix)
		rest = suffix
	}
	if domain != anyHost {
		list = append(list, anyHost)
	}
	return list
}

// exact says whether a domain stands for one hostname.
func exact(domain string) bool { return !strings.HasPrefix(domain, "*") }

// specificity orders hostnames: exact ones before wildcards, longer ones before shorter, and the one that matches anything last.
func specificity(host string) int {
	switch {
	case host == anyHost:
		return 0
	case strings.HasPrefix(host, "*."):
		return len(host)
	default:
		return 1<<16 + len(host)
	}
}
