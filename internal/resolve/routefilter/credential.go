package routefilter

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	defaultHeader = "authorization"
	// maxCredential leaves room for other headers: many servers take no more than 8 KiB of all of them.
	maxCredential = 4096
)

// credential reads which credential is added to requests. It returns a problem or a message, as [Resolve] does. Neither has a part of the
// credential.
func (in Inputs) credential(spec *v1alpha1.CredentialInjection) (*ir.InjectedCredential, *refs.Problem, string) {
	name := strings.ToLower(string(ptr.Deref(spec.Header, defaultHeader)))
	if message := header.CheckEdit(name); message != "" {
		return nil, nil, "credentialInjection.header: " + message
	}
	from := refs.Origin{Group: v1alpha1.GroupName, Kind: string(store.HTTPRouteFilter), Namespace: in.Namespace}
	secret, problem := refs.Secret(in.View, in.Objects, from, spec.Credential.ValueRef)
	if problem != nil {
		problem.Message = "credentialInjection.credential.valueRef: " + problem.Message
		return nil, problem, ""
	}
	key := store.KeyOf(secret)
	what := fmt.Sprintf("credentialInjection.credential.valueRef: key %s of Secret %s", v1alpha1.InjectedCredentialKey, key)
	value := strings.TrimSpace(string(secret.Data[v1alpha1.InjectedCredentialKey]))
	unusable := header.CheckValue(what, value)
	switch {
	case value == "":
		unusable = what + " has no text; add it"
	case len(value) > maxCredential:
		unusable = fmt.Sprintf("%s has %d bytes, and %d are allowed", what, len(value), maxCredential)
	}
	if unusable != "" {
		return nil, &refs.Problem{Reason: refs.InvalidSecret, Message: unusable}, ""
	}
	return &ir.InjectedCredential{Secret: key, Header: name, Overwrite: ptr.Deref(spec.Overwrite, false)}, nil, ""
}
