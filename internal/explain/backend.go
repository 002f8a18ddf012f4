package explain

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// backend is a backend with a share of the requests, and its endpoints.
func (x *exchange) backend(b ir.Backend, weight uint32) Backend {
	if b.IsZero() {
		return Backend{Object: "a reference that cannot be resolved", Weight: weight}
	}
	out := Backend{Cluster: b.String(), Weight: weight, Port: b.Port, Object: fmt.Sprintf("%s %s", b.Kind, b.Object)}
	members := b.Members()
	if len(members) == 0 {
		members = []ir.Backend{b}
	} else {
		var names []string
		for _, m := range members {
			names = append(names, fmt.Sprintf("%s %s", m.Kind, m.Object))
		}
		out.Object = strings.Join(names, ", then ")
	}
	total := 0
	for _, m := range members {
		n, known := x.config.Endpoints[m.Endpoints()]
		if !known {
			return out
		}
		total += n
	}
	out.Endpoints = &total
	return out
}

// forward explains where a request goes.
func (x *exchange) forward(rule *ir.Rule) {
	for _, b := range rule.Forward.Backends {
		if b.Weight == 0 {
			continue
		}
		share := x.backend(b.Backend, b.Weight)
		refused, isRefused := x.config.Refused[b.Backend]
		switch {
		case b.Backend.IsZero():
			share.Status = unserved(rule)
			share.Detail = "the reference cannot be resolved"
		case isRefused:
			share.Status, share.Detail = http.StatusServiceUnavailable, refused
		case b.Picker != nil && b.Picker.Broken && !b.Picker.FailOpen:
			share.Status, share.Detail = http.StatusServiceUnavailable, "its endpoint picker cannot be resolved"
		case share.Endpoints != nil && *share.Endpoints == 0:
			share.Status, share.Detail = http.StatusServiceUnavailable, "it has no ready endpoint"
		}
		x.out.Backends = append(x.out.Backends, share)
		if b.Picker != nil && !b.Picker.Broken {
			x.alternative(0, "endpoint picker", "the endpoint picker does not answer, or rejects the request", share.Object)
		}
	}
	x.send(rule)
}

// send ends the explanation with what the backends do.
func (x *exchange) send(rule *ir.Rule) {
	hop := Hop{Name: hopBackend, Object: describeBackends(x.out.Backends)}
	broken := slices.DeleteFunc(slices.Clone(x.out.Backends), func(b Backend) bool { return b.Status == 0 })
	if len(broken) == len(x.out.Backends) {
		hop.Detail = fmt.Sprintf("%s -> %s: %s", DescribeRule(rule.Name), broken[0].Object, broken[0].Detail)
		x.listProblems(rule)
		x.fail(broken[0].Status, hop, backendFix(broken[0]))
		for _, b := range broken[1:] {
			if b.Status != broken[0].Status {
				x.alternative(b.Status, "weights", fmt.Sprintf("%s is chosen: %s", b.Object, b.Detail), "")
			}
		}
		return
	}
	x.hop(hop)
	x.out.Result = Forwarded
	x.out.Reason = fmt.Sprintf("%s sends it to %s", DescribeRule(rule.Name), describeBackends(x.out.Backends))
	for _, b := range broken {
		x.alternative(b.Status, "weights", fmt.Sprintf("%s is chosen: %s", b.Object, b.Detail), "")
	}
}

func backendFix(b Backend) string {
	switch {
	case b.Cluster == "":
		return "correct the backendRefs of the rule: the condition ResolvedRefs of the route says what is wrong"
	case b.Endpoints != nil && *b.Endpoints == 0:
		return fmt.Sprintf("see whether pods of %s are ready, and whether its selector and ports fit them", b.Object)
	default:
		return fmt.Sprintf("correct %s: its status says what is wrong", b.Object)
	}
}

// describeBackends lists backends with their shares.
func describeBackends(all []Backend) string {
	var total uint64
	for _, b := range all {
		total += uint64(b.Weight)
	}
	parts := make([]string, len(all))
	for i, b := range all {
		parts[i] = b.Object
		if b.Port > 0 {
			parts[i] += fmt.Sprintf(":%d", b.Port)
		}
		if len(all) > 1 {
			parts[i] += fmt.Sprintf(" (%.0f%%)", 100*float64(b.Weight)/float64(total))
		}
		if b.Endpoints != nil {
			parts[i] += fmt.Sprintf(", %d endpoints", *b.Endpoints)
		}
	}
	return strings.Join(parts, "; ")
}

// unserved is what a rule answers that has nowhere to send a request.
func unserved(rule *ir.Rule) int {
	if rule.Match.GRPC {
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
