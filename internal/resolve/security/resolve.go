package security

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/cel"
	"github.com/gatewright/gatewright/internal/resolve/expression"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// closed is what becomes of requests where a setting is broken.
const closed = "; until then requests to the targets are answered with an error"

// resolve resolves the SecurityPolicy of that key.
func resolve(v *store.View, objects *store.Objects, key string) Policy {
	object, ok := objects.SecurityPolicies.Get(v, key)
	if !ok {
		return Policy{}
	}
	if reason := store.Unreadable(object); reason != "" {
		p := closedPolicy(v, objects, object)
		p.Accepted = &refs.Problem{
			Reason: string(gwv1.PolicyReasonInvalid),
			Message: "the policy cannot be read; install the definition that belongs to this version of Gatewright, or correct it: " +
				reason + closed,
		}
		return p
	}
	if message := refs.UnknownFields(object); message != "" {
		// What can be read of a rule may match more than the rule does.
		p := closedPolicy(v, objects, object)
		p.Accepted = &refs.Problem{Reason: string(gwv1.PolicyReasonInvalid), Message: message + closed}
		return p
	}
	p := inherit.New(v, objects, &kind, object, &object.Spec.PolicyTargets)
	p.Serves = "the settings apply to requests of the targets"
	r := &resolver{
		view: v, objects: objects, policy: ir.Name{Namespace: object.Namespace, Name: object.Name},
		from:        refs.Origin{Group: v1alpha1.GroupName, Kind: kind.Name, Namespace: object.Namespace},
		expressions: expression.Budget{Limits: objects.Limits},
	}
	r.conditions.Regexes = &r.expressions
	p.Spec = r.settings(&object.Spec)
	if len(r.problems) > 0 && p.Accepted == nil {
		p.Accepted = &refs.Problem{Reason: string(gwv1.PolicyReasonInvalid), Message: strings.Join(r.problems, "; ") + closed}
	}
	if len(r.unresolved) > 0 {
		first := *r.unresolved[0]
		for _, more := range r.unresolved[1:] {
			first.Message += "; " + more.Message
		}
		first.Message += closed
		p.ResolvedRefs = &first
	}
	return p
}

// broken is a policy whose resolution panicked. Nothing of its targets passes.
func broken(v *store.View, objects *store.Objects, key string, last Policy) Policy {
	object, ok := objects.SecurityPolicies.Get(v, key)
	if !ok {
		return last
	}
	return closedPolicy(v, objects, object)
}

// closedPolicy is a policy that lets nothing pass, whatever its settings are.
func closedPolicy(v *store.View, objects *store.Objects, object *v1alpha1.SecurityPolicy) Policy {
	p := inherit.New(v, objects, &kind, object, &object.Spec.PolicyTargets)
	p.Spec.Authorization = []ir.Authorization{{Guard: ir.Broken, Policy: ir.Name{Namespace: object.Namespace, Name: object.Name}}}
	return p
}

// resolver resolves the settings of one policy. It collects what cannot be served.
type resolver struct {
	view        *store.View
	objects     *store.Objects
	policy      ir.Name
	from        refs.Origin
	expressions expression.Budget
	conditions  cel.Budget
	// problems are about values, and unresolved about references.
	problems   []string
	unresolved []*refs.Problem
	// unreadable says that a text of the policy is not UTF-8, so that no proxy takes it.
	unreadable bool
}

func (r *resolver) fail(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// guard resolves a setting, and says what becomes of it.
func (r *resolver) guard(mode *v1alpha1.SecurityMode, resolve func()) ir.Guard {
	before := len(r.problems) + len(r.unresolved)
	switch {
	case mode == nil:
		resolve()
	case *mode != v1alpha1.SecurityNone:
		r.fail("mode %q is not known; use %s, or remove it", *mode, v1alpha1.SecurityNone)
	default:
		return ir.Off
	}
	if len(r.problems)+len(r.unresolved) > before || r.unreadable {
		return ir.Broken
	}
	return ir.Enforced
}

func (r *resolver) settings(spec *v1alpha1.SecurityPolicySpec) Spec {
	var s Spec
	if !readable(reflect.ValueOf(spec)) {
		r.unreadable = true
		r.fail("a text is not UTF-8; correct it")
	}
	if spec.CORS != nil {
		s.CORS = r.cors(spec.CORS)
	}
	if spec.CSRF != nil {
		s.CSRF = r.csrf(spec.CSRF)
	}
	if spec.ExtAuth != nil {
		s.ExtAuth = r.extAuth(spec.ExtAuth)
	}
	if spec.JWT != nil {
		s.JWT = r.jwt(spec.JWT)
	}
	if spec.OIDC != nil {
		s.OIDC = r.oidc(spec.OIDC)
	}
	if spec.BasicAuth != nil {
		s.BasicAuth = r.basicAuth(spec.BasicAuth)
	}
	if spec.APIKeyAuth != nil {
		s.APIKeyAuth = r.apiKeyAuth(spec.APIKeyAuth)
	}
	if a := spec.Authentication; a != nil {
		s.Authentication = &ir.Authentication{Any: a.Require != nil && *a.Require == v1alpha1.AuthenticationAny}
	}
	if spec.Authorization != nil {
		s.Authorization = []ir.Authorization{r.authorization(spec.Authorization, s.JWT)}
	}
	return s
}

// readable says whether all texts are UTF-8. API servers let no others pass.
func readable(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Pointer:
		return v.IsNil() || readable(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if !readable(v.Index(i)) {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !readable(v.Field(i)) {
				return false
			}
		}
	default:
	}
	return true
}

// duration reads a duration of the Gateway API. The API server has checked its form.
func (r *resolver) duration(field string, d *gwv1.Duration, fallback, least time.Duration) time.Duration {
	if d == nil {
		return fallback
	}
	parsed, err := time.ParseDuration(string(*d))
	if err != nil || parsed < least {
		r.fail("%s %q is not a duration of at least %v; write it like 10s", field, *d, least)
		return fallback
	}
	return parsed
}

// forwarded is the name of a header in which backends see something about the client, in lower case.
func (r *resolver) forwarded(field string, name *gwv1.HTTPHeaderName) string {
	if name == nil {
		return ""
	}
	lower := strings.ToLower(string(*name))
	if slices.Contains(ir.ConnectionHeaders, lower) {
		r.fail("%s: header %s says how a request is sent and cannot be set; use another name", field, lower)
	} else if message := header.CheckEdit(lower); message != "" {
		r.fail("%s: %s", field, message)
	}
	return lower
}

// token checks the name of a header or a cookie.
func (r *resolver) token(field, name string) string {
	if message := header.CheckName(field, name); message != "" {
		r.fail("%s", message)
	}
	return name
}
