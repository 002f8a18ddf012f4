package xds

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// A scope is a RouteConfiguration of its own that Envoy finds by a key, here the name of a table and a host: `<table>|<host>`. Changing one costs Envoy, and
// everybody on the way, the same however many there are, where a table is sent and built as a whole. A key is found exactly or not at all, so the virtual hosts with
// a wildcard are together in one more scope, `<table>|*`, which a listener turns to for hosts that have none of their own.

// scopedConfigurationField is the number of the field `route_configuration` of ScopedRouteConfiguration.
const scopedConfigurationField protowire.Number = 5

// anyHost is the host in the key of the scope that has the wildcards.
const anyHost = "*"

// scopedHost is the virtual host of a scope, if it has just one.
type scopedHost struct {
	table   string
	header  *Resource
	domain  string
	content *Resource
}

func scopeName(table, host string) string { return table + "|" + host }

// exact says whether a domain is a host's own name.
func exact(domain string) bool { return !strings.HasPrefix(domain, "*") }

// scope is the content of the scope of that name.
func (c tableParts) scope(name string) *Resource {
	message := &routev3.ScopedRouteConfiguration{
		Name: name,
		Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{{
			Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: name},
		}}},
	}
	// Names come from the API server, so they have a wire format.
	body, _ := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	body = protowire.AppendTag(body, scopedConfigurationField, protowire.BytesType)
	body = protowire.AppendBytes(body, c.assemble())
	sum := sha256.Sum256(body)
	return &Resource{version: hex.EncodeToString(sum[:versionBytes]), body: &anypb.Any{TypeUrl: typeURLs[Scope], Value: body}}
}

// changeScope brings the scope that a domain is in up to date.
func (g *group) changeScope(table, domain string, different *touched) {
	t := g.tables[table]
	change := Change{Type: Scope, Name: scopeName(table, anyHost)}
	if exact(domain) {
		change.Name = scopeName(table, domain)
	}
	switch {
	case t == nil || t.header == nil:
	case !exact(domain):
		change.Resource = tableParts{header: t.header, hosts: t.wild}.scope(change.Name)
	default:
		if content := t.hosts.get(domain); content != nil {
			change.host = &scopedHost{table: table, header: t.header, domain: domain, content: content}
			change.Resource = tableParts{header: t.header, hosts: &partTree{name: domain, part: content}}.scope(change.Name)
		}
	}
	if change.Resource != nil || g.resources[Scope][change.Name] != nil {
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
