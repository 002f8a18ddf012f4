package route

import (
	"fmt"
	"regexp"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
)

// headerEdit reads a header modifier. Of what Envoy would refuse, and with it every other rule of the table, it returns a message.
func headerEdit(f *gwv1.HTTPHeaderFilter, to **ir.HeaderEdit) string {
	if *to == nil {
		*to = &ir.HeaderEdit{}
	}
	edit := *to
	edit.Remove = f.Remove
	for _, list := range []struct {
		from []gwv1.HTTPHeader
		to   *[]ir.Header
	}{{f.Set, &edit.Set}, {f.Add, &edit.Add}} {
		for _, h := range list.from {
			if message := header.CheckValue("the value for header "+string(h.Name), h.Value); message != "" {
				return message
			}
			*list.to = append(*list.to, ir.Header{Name: string(h.Name), Value: h.Value})
		}
	}
	for _, name := range editedNames(f) {
		if message := header.CheckEdit(name); message != "" {
			return message
		}
	}
	return ""
}

// requestHeaderEdit is [headerEdit] for requests. Setting Host is a rewrite of the hostname, as tools that convert an Ingress write it.
func requestHeaderEdit(f *gwv1.HTTPHeaderFilter, edit **ir.HeaderEdit, to **ir.Rewrite) string {
	rest := *f
	rest.Set = nil
	for _, h := range f.Set {
		if !strings.EqualFold(string(h.Name), "host") {
			rest.Set = append(rest.Set, h)
			continue
		}
		if message := rewriteHost(h.Value, to); message != "" {
			return message
		}
	}
	return headerEdit(&rest, edit)
}

// hostValue is a host that a header can name, with or without a port.
var hostValue = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?$`)

// rewriteHost has a hostname sent to the backend. Two filters may say so if they agree.
func rewriteHost(host string, to **ir.Rewrite) string {
	if *to == nil {
		*to = &ir.Rewrite{}
	}
	switch r := *to; {
	case !hostValue.MatchString(host):
		return fmt.Sprintf("%q is not a host; write a name or an address, with a port or without", host)
	case r.Host.FromRequest():
		return twoHosts
	case r.Hostname != "" && r.Hostname != host:
		return fmt.Sprintf("filters rewrite the hostname to %s and to %s; remove one", r.Hostname, host)
	default:
		r.Hostname = host
		return ""
	}
}

func editedNames(f *gwv1.HTTPHeaderFilter) []string {
	var names []string
	for _, h := range f.Set {
		names = append(names, string(h.Name))
	}
	for _, h := range f.Add {
		names = append(names, string(h.Name))
	}
	return append(names, f.Remove...)
}
