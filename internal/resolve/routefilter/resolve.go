package routefilter

import (
	"fmt"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/reply"
	"github.com/gatewright/gatewright/internal/store"
)

// ReasonFilterNotFound is the reason of a reference to a filter that does not exist.
const ReasonFilterNotFound = "FilterNotFound"

// Resolved is what a filter does. Its values are never modified.
type Resolved struct {
	// RequestHeaders and ResponseHeaders edit what passes through; nil edits nothing.
	RequestHeaders, ResponseHeaders *ir.HeaderEdit
	// Rewrite changes the request; nil changes nothing.
	Rewrite *ir.Rewrite
	// Respond answers without a backend.
	Respond *ir.Response
	// Credential is added to requests.
	Credential *ir.InjectedCredential
}

// Inputs is what filters are resolved from.
type Inputs struct {
	View    *store.View
	Objects *store.Objects
	// Namespace is that of the route, and GRPC says that it is a GRPCRoute.
	Namespace string
	GRPC      bool
}

// Resolve resolves the HTTPRouteFilter of that name. It returns a problem if a reference leads nowhere, and a message if the filter cannot
// be served as written. In both cases the rule that uses it must fail closed.
func Resolve(in Inputs, name string) (Resolved, *refs.Problem, string) {
	key := store.Key(in.Namespace, name)
	object, ok := in.Objects.HTTPRouteFilters.Get(in.View, key)
	if !ok {
		return Resolved{}, &refs.Problem{
			Reason: ReasonFilterNotFound,
			Message: fmt.Sprintf("HTTPRouteFilter %s does not exist, so requests are answered with an error; create it, or correct the name",
				key),
		}, ""
	}
	if message := refs.UnknownFields(object); message != "" {
		return Resolved{}, nil, fmt.Sprintf("HTTPRouteFilter %s: %s", key, message)
	}
	r, problem, message := in.resolve(&object.Spec)
	if problem != nil {
		problem.Message = fmt.Sprintf("HTTPRouteFilter %s: %s", key, problem.Message)
	}
	if message != "" {
		message = fmt.Sprintf("HTTPRouteFilter %s: %s", key, message)
	}
	return r, problem, message
}

// Cookies are the conditions that the HTTPRouteFilter of that name adds to a rule: alternatives, of which a request must meet one. They are
// there even if the filter cannot be served. It is false where it is not known what they are.
func Cookies(in Inputs, name string) ([]*ir.CookieMatches, bool) {
	object, ok := in.Objects.HTTPRouteFilters.Get(in.View, store.Key(in.Namespace, name))
	if !ok || refs.UnknownFields(object) != "" {
		return nil, false
	}
	alternatives, message := in.cookies(object.Spec.Matches)
	return alternatives, message == ""
}

func (in Inputs) resolve(spec *v1alpha1.HTTPRouteFilterSpec) (r Resolved, problem *refs.Problem, message string) {
	if _, message = in.cookies(spec.Matches); message != "" {
		return r, nil, message
	}
	if r.Rewrite, message = in.rewrite(spec.URLRewrite); message != "" {
		return r, nil, message
	}
	if r.RequestHeaders, message = reply.HeaderFormats("requestHeaderModifier", spec.RequestHeaderModifier); message != "" {
		return r, nil, message
	}
	if r.ResponseHeaders, message = reply.HeaderFormats("responseHeaderModifier", spec.ResponseHeaderModifier); message != "" {
		return r, nil, message
	}
	if spec.DirectResponse != nil {
		if problem, message = in.respond(spec.DirectResponse, &r); problem != nil || message != "" {
			return r, problem, message
		}
	}
	if spec.CredentialInjection != nil {
		r.Credential, problem, message = in.credential(spec.CredentialInjection)
	}
	return r, problem, message
}
