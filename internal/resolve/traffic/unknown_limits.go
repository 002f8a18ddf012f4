package traffic

import (
	"reflect"
	"strings"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/resolve/values"
	"github.com/gatewright/gatewright/internal/store"
)

// limitKinds are kinds of limits of a policy.
type limitKinds struct{ local, global bool }

// unknownLimits are the limits of a policy that are not known as a whole: it guards its targets, and it is not known how. A field may
// concern both kinds unless its path says which.
func unknownLimits(object *v1alpha1.BackendTrafficPolicy) limitKinds {
	var unknown limitKinds
	for _, path := range store.UnknownFields(object) {
		switch {
		case within(path, "spec.rateLimit.local"):
			unknown.local = true
		case within(path, "spec.rateLimit.global"):
			unknown.global = true
		case within(path, "spec.rateLimit"):
			return limitKinds{local: true, global: true}
		}
	}
	return unknown
}

// within says whether a path is that of a field, or of one below it.
func within(path, field string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// broken are limits of which these kinds fail closed until another policy has them instead: they have a rule that is none.
func (k limitKinds) broken(limits *v1alpha1.RateLimit) *v1alpha1.RateLimit {
	if k == (limitKinds{}) {
		return limits
	}
	var closed v1alpha1.RateLimit
	if limits != nil {
		closed = *limits
	}
	if k.local {
		closed.Local = &v1alpha1.LocalRateLimit{Rules: []v1alpha1.RateLimitRule{{}}}
	}
	if k.global {
		closed.Global = &v1alpha1.GlobalRateLimit{Rules: []v1alpha1.RateLimitRule{{}}}
	}
	return &closed
}

// changedLimits are the limits of a policy that are not those that it had last, or are not known.
func changedLimits(object *v1alpha1.BackendTrafficPolicy, last *v1alpha1.RateLimit) limitKinds {
	now, before, changed := values.Or(object.Spec.RateLimit), values.Or(last), unknownLimits(object)
	changed.local = changed.local || now.Local != nil && !reflect.DeepEqual(now.Local, before.Local)
	changed.global = changed.global || now.Global != nil && !reflect.DeepEqual(now.Global, before.Global)
	return changed
}

// settings are the names of the settings.
func (k limitKinds) settings() []string {
	var names []string
	if k.local {
		names = append(names, "rateLimit.local")
	}
	if k.global {
		names = append(names, "rateLimit.global")
	}
	return names
}

// problem says what becomes of requests, empty for no limits.
func (k limitKinds) problem() string {
	names := k.settings()
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, " and ") + ": what is set is not known as a whole, so requests are answered with an error"
}
