package explain

import (
	"maps"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// Config is what the proxies of some Gateways serve.
type Config struct {
	Gateways []Gateway
	// Hosts are the virtual hosts of all their route tables.
	Hosts map[ir.HostID]ir.VirtualHost
	// Endpoints is how many endpoints proxies have of a backend. One that is not there has addresses of its own.
	Endpoints map[ir.Endpoints]int
	// Refused are backends that get no connections, and why.
	Refused map[ir.Backend]string
	// Routes are the routes of requests, whether they are served or not.
	Routes []Route
}

// Gateway is one Gateway.
type Gateway struct {
	Name ir.Name
	// Ports are sorted by number.
	Ports []ir.Port
	// Addresses are where its proxies can be reached, as far as that is known.
	Addresses []string
	// Problems say why listeners are not served, in words.
	Problems []string
}

// Route is a route, and what it reports.
type Route struct {
	Object ir.ObjectRef
	// Hostnames are those that the route names, none for all.
	Hostnames []string
	// Problems are the conditions that are not as they should be, in words. Attached says that a listener serves the route all the same.
	Problems []string
	Attached bool
}

// wildcards are the virtual hosts of a table whose domains begin with a wildcard, the longest first.
func (c *Config) wildcards(table ir.TableID) []*ir.VirtualHost {
	var hosts []*ir.VirtualHost
	for id := range maps.Keys(c.Hosts) {
		if id.Table == table && isWildcard(id.Domain) {
			host := c.Hosts[id]
			hosts = append(hosts, &host)
		}
	}
	slices.SortFunc(hosts, func(a, b *ir.VirtualHost) int { return len(b.Domain) - len(a.Domain) })
	return hosts
}

func isWildcard(domain string) bool { return strings.HasPrefix(domain, "*") }

// covers says whether a domain is that of a host, as Envoy compares them: a wildcard stands for at least one character.
func covers(domain, host string) bool {
	if !isWildcard(domain) {
		return domain == host
	}
	suffix := domain[1:]
	return domain == "*" || len(host) > len(suffix) && strings.HasSuffix(host, suffix)
}
