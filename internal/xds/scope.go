package xds

import (
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// A scope is a RouteConfiguration of its own that Envoy finds by a key, here the name of a table and a host: `<table>|<host>`. Changing
// one costs the same however many there are, while a table is sent and built as a whole. A key must match exactly, so all virtual hosts
// with a wildcard are in one more scope, `<table>|*`, which a listener uses for hosts without a scope of their own.

// scopedConfigurationField is the number of the field `route_configuration` of ScopedRouteConfiguration.
const scopedConfigurationField protowire.Number = 5

const scopeSeparator = "|"

// anyHost is the host in the key of the scope with the wildcards.
const anyHost = "*"

// scope is the content of a scope, in parts that its table has too: the header, and one virtual host or all those with a wildcard.
type scope struct {
	version string
	header  *Resource
	host    *Resource
	wild    *partTree
	// hostBytes is the size of its hosts.
	hostBytes int
}

// newScope derives the version from the digest of the parts, sum.
func newScope(name string, header *Resource, sum digest) *scope {
	return &scope{header: header, version: sum.plus(digestOf(name, header.version)).String()}
}

// Version implements content.
func (c *scope) Version() string { return c.version }

// scopeRoom is about what the key and a salt add to a scope.
const scopeRoom = 256

func (c *scope) bytes() int { return len(c.header.value) + c.hostBytes + scopeRoom }

func (c *scope) body(name string) *anypb.Any {
	message := &routev3.ScopedRouteConfiguration{
		Name: name,
		Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{{
			Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: name},
		}}},
	}
	// Names come from the API server, so they have a wire format.
	body, _ := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	hosts := c.wild
	if c.host != nil {
		hosts = &partTree{part: c.host}
	}
	body = protowire.AppendTag(body, scopedConfigurationField, protowire.BytesType)
	body = protowire.AppendBytes(body, tableParts{header: c.header, hosts: hosts}.assemble())
	return &anypb.Any{TypeUrl: typeURLs[Scope], Value: body}
}

func scopeName(table, host string) string { return table + scopeSeparator + host }

// scopeOf returns the name of the scope of a domain.
func scopeOf(table, domain string) string {
	if exact(domain) {
		return scopeName(table, domain)
	}
	return scopeName(table, anyHost)
}

// exact reports whether a domain has no wildcard.
func exact(domain string) bool { return !strings.HasPrefix(domain, "*") }

// changeScope updates the scope of a domain.
func (g *group) changeScope(table, domain string, different *touched) {
	t := g.tables[table]
	change := Change{Type: Scope, Name: scopeOf(table, domain)}
	switch {
	case t == nil || t.header == nil:
	case !exact(domain):
		change.scope = newScope(change.Name, t.header, t.wildSum)
		change.scope.wild, change.scope.hostBytes = t.wild, t.wildBytes
	default:
		if host := t.hosts.get(domain); host != nil {
			change.scope = newScope(change.Name, t.header, digestOf(domain, host.version))
			change.scope.host, change.scope.hostBytes = host, roomOf(host)
		}
	}
	if change.scope != nil || g.resources[Scope][change.Name] != nil {
		g.change(change, different)
	}
}

// changeScopes does that for all hosts of a table, after its header has changed.
func (g *group) changeScopes(table string, different *touched) {
	g.changeScope(table, anyHost, different)
	if t := g.tables[table]; t != nil {
		t.hosts.changed(nil, func(domain string, _ *Resource) {
			if exact(domain) {
				g.changeScope(table, domain, different)
			}
		})
	}
}
