package explain

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// Explain says what becomes of a request. If several Gateways have the port and the request names none of them, it is for the one at which
// it comes furthest.
func Explain(config *Config, request Request) Explanation {
	var best *Explanation
	var others []string
	for i := range config.Gateways {
		gateway := &config.Gateways[i]
		if request.Gateway != (ir.Name{}) && request.Gateway != gateway.Name {
			continue
		}
		port := portOf(gateway, request.Port)
		if port == nil {
			continue
		}
		e := explainAt(config, gateway, port, request)
		others = append(others, gateway.Name.String())
		if best == nil || e.progress() > best.progress() {
			best = e
		}
	}
	if best == nil {
		e := noPort(config, request)
		return *e
	}
	if len(others) > 1 {
		best.Hops[0].Detail = fmt.Sprintf("%s have the port", strings.Join(others, ", "))
	}
	return *best
}

// progress is how far a request comes.
func (e *Explanation) progress() int {
	switch {
	case e.Rule != "" && e.Status != http.StatusMisdirectedRequest:
		return 3
	case e.Host != "" && e.Host != "*":
		return 2
	case e.Listener != "":
		return 1
	default:
		return 0
	}
}

// portOf is the port of requests and connections, nil if there is none of that number.
func portOf(gateway *Gateway, number int32) *ir.Port {
	for i := range gateway.Ports {
		if p := &gateway.Ports[i]; p.Number == number && !p.Protocol.Datagrams() {
			return p
		}
	}
	return nil
}

// noPort is for a request whose port no Gateway has.
func noPort(config *Config, request Request) *Explanation {
	e := &Explanation{Result: Closed}
	e.Reason = fmt.Sprintf("no Gateway has a listener on port %d that can be served", request.Port)
	if request.Gateway != (ir.Name{}) {
		e.Reason = fmt.Sprintf("Gateway %s has no listener on port %d that can be served, or does not exist here", request.Gateway, request.Port)
	}
	var open []string
	for _, g := range config.Gateways {
		for _, p := range g.Ports {
			open = append(open, fmt.Sprintf("%s:%s", g.Name, p.ID()))
		}
	}
	e.Hops = []Hop{{Name: hopAddress, Value: fmt.Sprintf("port %d", request.Port), Failed: true, Detail: e.Reason}}
	e.Fix = fmt.Sprintf("add a listener on port %d to a Gateway", request.Port)
	for _, g := range config.Gateways {
		if len(g.Problems) > 0 && (request.Gateway == (ir.Name{}) || request.Gateway == g.Name) {
			e.Unserved = append(e.Unserved, Unserved{Object: "Gateway " + g.Name.String(), Problems: g.Problems})
			e.Fix = "correct the listeners of Gateway " + g.Name.String()
		}
	}
	if len(open) > 0 {
		e.Fix += "; there are " + strings.Join(open, ", ")
	}
	return e
}

// The names of hops.
const (
	hopAddress  = "address"
	hopTLSName  = "TLS name"
	hopRequest  = "request"
	hopHost     = "host"
	hopRule     = "rule"
	hopSetting  = "setting"
	hopFilter   = "filter"
	hopBackend  = "backend"
	hopResponse = "response"
)

// exchange is one request at one port.
type exchange struct {
	config  *Config
	gateway *Gateway
	port    *ir.Port
	chain   *ir.Chain
	policy  ir.ClientPolicy
	request Request
	headers headers
	// path has the query, and client is the address that counts.
	path   string
	client netip.Addr
	out    *Explanation
}

func explainAt(config *Config, gateway *Gateway, port *ir.Port, request Request) *Explanation {
	x := &exchange{
		config: config, gateway: gateway, port: port, request: request, path: request.Path, client: request.Client,
		out: &Explanation{Gateway: gateway.Name.String()},
	}
	address := fmt.Sprintf("port %d", port.Number)
	if len(gateway.Addresses) > 0 {
		address = fmt.Sprintf("%s port %d", gateway.Addresses[0], port.Number)
	}
	x.hop(Hop{Name: hopAddress, Value: address, Object: "Gateway " + gateway.Name.String()})
	if x.connect() {
		x.serve()
	}
	return x.out
}

func (x *exchange) hop(h Hop) { x.out.Hops = append(x.out.Hops, h) }

// fail ends the explanation at the last hop, with an answer of the proxy.
func (x *exchange) fail(status int, h Hop, fix string) {
	h.Failed = true
	x.hop(h)
	x.answer(status, h.Detail)
	x.out.Fix = fix
}

// answer ends the explanation with an answer of the proxy. gRPC clients get its status in a header of gRPC.
func (x *exchange) answer(status int, reason string) {
	x.out.Result, x.out.Status, x.out.Reason = Answered, status, reason
	if x.isGRPC() {
		x.out.Status, x.out.GRPCStatus = http.StatusOK, new(grpcStatus(status))
	}
}

// close ends the explanation without an answer.
func (x *exchange) close(h Hop, fix string) {
	h.Failed = true
	x.hop(h)
	x.out.Result, x.out.Reason, x.out.Fix = Closed, h.Detail, fix
}

// alternative adds an answer that is possible too. A status of 0 is any.
func (x *exchange) alternative(status int, filter, when, origin string) {
	if status != 0 && x.isGRPC() {
		status = http.StatusOK
	}
	x.out.Alternatives = append(x.out.Alternatives, Alternative{Status: status, Filter: filter, When: when, Origin: origin})
}

func (x *exchange) isGRPC() bool {
	rest, ok := strings.CutPrefix(x.headers.first("content-type"), "application/grpc")
	return ok && x.request.Method != http.MethodConnect && (rest == "" || rest[0] == '+')
}

// The status codes of gRPC.
const (
	grpcUnknown          = 2
	grpcPermissionDenied = 7
	grpcUnimplemented    = 12
	grpcInternal         = 13
	grpcUnavailable      = 14
	grpcUnauthenticated  = 16
)

// grpcStatus is what Envoy makes of an HTTP status.
func grpcStatus(status int) int {
	switch status {
	case http.StatusBadRequest:
		return grpcInternal
	case http.StatusUnauthorized:
		return grpcUnauthenticated
	case http.StatusForbidden:
		return grpcPermissionDenied
	case http.StatusNotFound:
		return grpcUnimplemented
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return grpcUnavailable
	default:
		return grpcUnknown
	}
}

// connect finds the chain of the connection. It is false if no request comes out of it.
func (x *exchange) connect() bool {
	choosesByName := x.port.Protocol.ChoosesByName()
	switch {
	case choosesByName && !x.request.TLS:
		x.close(Hop{
			Name: hopTLSName, Value: "plain text",
			Detail: fmt.Sprintf("port %d speaks %s, and the client sends plain text", x.port.Number, x.port.Protocol),
		}, fmt.Sprintf("use https, or a port of a listener with protocol HTTP instead of %d", x.port.Number))
		return false
	case !choosesByName && x.request.TLS && x.port.Protocol == ir.HTTP:
		x.close(Hop{
			Name: hopTLSName, Value: x.request.ServerName,
			Detail: fmt.Sprintf("port %d speaks HTTP, and the client begins a TLS handshake", x.port.Number),
		}, fmt.Sprintf("use http, or give a listener of port %d the protocol HTTPS and a certificate", x.port.Number))
		return false
	}
	chain := chainOf(x.port, x.request.ServerName)
	if chain == nil {
		x.close(Hop{
			Name: hopTLSName, Value: cmp.Or(x.request.ServerName, "none"),
			Detail: fmt.Sprintf("no listener of port %d has a hostname that covers the TLS server name; the connection is closed", x.port.Number),
		}, x.nameFix())
		return false
	}
	x.chain, x.policy, x.out.Listener = chain, chain.Client(), chain.Name
	return x.openChain()
}

func (x *exchange) nameFix() string {
	var names []string
	for _, c := range x.port.Chains {
		names = append(names, fmt.Sprintf("%s (listener %s)", c.ServerName, c.Name))
	}
	return fmt.Sprintf("add a listener for %s to Gateway %s, or use one of: %s",
		cmp.Or(x.request.ServerName, "any hostname"), x.gateway.Name, strings.Join(names, ", "))
}

// openChain checks what a chain asks of connections. It is false if no request comes out of it.
func (x *exchange) openChain() bool {
	hop := Hop{Name: hopTLSName, Value: cmp.Or(x.request.ServerName, "none"), Object: "listener " + x.chain.Name}
	if !x.request.TLS {
		hop.Name, hop.Value = "listener", ""
	}
	switch clients := cmp.Or(x.chain.Clients, x.policy.TLS.Clients); {
	case x.policy.FailClosed:
		hop.Detail = "a ClientTrafficPolicy of the listener cannot be resolved, so that every connection is closed"
		hop.Origin = originsOf(x.policy.Origins)
		x.close(hop, "correct the policy; its status says what is wrong")
		return false
	case x.chain.RouteTable.IsZero():
		x.pass(hop)
		return false
	case x.request.TLS && clients != nil && !clients.Optional && !x.request.Certificate:
		hop.Detail = "clients have to show a certificate, and this one shows none; the handshake fails"
		x.close(hop, "send a client certificate that the listener accepts (--client-certificate says that there is one)")
		return false
	}
	if x.request.TLS {
		hop.Detail = "Secret " + strings.Join(x.chain.Certificates, ", ")
	}
	x.hop(hop)
	return true
}

// pass is for a chain that forwards whole connections.
func (x *exchange) pass(hop Hop) {
	if x.chain.Stream == nil || !x.chain.Stream.Leads() {
		for _, problem := range x.gateway.Problems {
			if text, ok := strings.CutPrefix(problem, "listener "+x.chain.Name+": "); ok {
				hop.Detail = fmt.Sprintf("listener %s is not served, and closes connections: %s", x.chain.Name, text)
				x.close(hop, fmt.Sprintf("correct listener %s of Gateway %s", x.chain.Name, x.gateway.Name))
				return
			}
		}
		hop.Detail = "no route of the listener has a backend for connections; the connection is closed"
		x.close(hop, "attach a TLSRoute or TCPRoute with a backend to the listener")
		return
	}
	x.hop(hop)
	x.out.Result, x.out.Rule = Passed, x.chain.Stream.Route
	for _, b := range x.chain.Stream.Backends {
		if b.Weight > 0 {
			x.out.Backends = append(x.out.Backends, x.backend(b.Backend, b.Weight))
		}
	}
	x.out.Reason = fmt.Sprintf("%s gets the whole connection, unseen", x.chain.Stream.Route)
	x.hop(Hop{Name: hopBackend, Object: x.chain.Stream.Route, Detail: describeBackends(x.out.Backends)})
}

// chainOf is the chain for a TLS server name: the exact one, that with the longest wildcard, or the one for all others.
func chainOf(port *ir.Port, name string) *ir.Chain {
	name = strings.ToLower(name)
	var best *ir.Chain
	for i := range port.Chains {
		c := &port.Chains[i]
		switch {
		case !port.Protocol.ChoosesByName():
			return c
		case c.ServerName == "" && best == nil,
			c.ServerName != "" && covers(c.ServerName, name) && (best == nil || moreSpecific(c.ServerName, best.ServerName)):
			best = c
		}
	}
	return best
}

func moreSpecific(a, b string) bool {
	if isWildcard(a) != isWildcard(b) && b != "" {
		return !isWildcard(a)
	}
	return len(a) > len(b)
}

func originsOf(objects []ir.ObjectRef) string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = o.String()
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
