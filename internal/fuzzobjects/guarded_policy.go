package fuzzobjects

import (
	"encoding/base64"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

// What the policies of [Generator.Guarded] read, in each namespace.
const (
	guardedUsers = "users"
	guardedKeys  = "keys"
	guardedJWKS  = "jwks"
)

// policyData are the Secret and ConfigMaps that policies of a namespace read, and what lets policies of tenants read those of infra.
func (w Generator) policyData(namespace string, add func(store.Kind, store.Object)) {
	users := &corev1.Secret{ObjectMeta: w.meta(namespace, guardedUsers), Type: corev1.SecretTypeOpaque}
	users.Data = map[string][]byte{v1alpha1.HtpasswdKey: []byte(userLine("ali", 0))}
	keys := &corev1.Secret{ObjectMeta: w.meta(namespace, guardedKeys), Type: corev1.SecretTypeOpaque}
	keys.Labels = map[string]string{v1alpha1.PolicyDataLabel: ""}
	keys.Data = map[string][]byte{"ali": []byte("k1"), "eve": []byte("k2")}
	add(store.Secret, users)
	add(store.Secret, keys)
	jwks := &corev1.ConfigMap{ObjectMeta: w.meta(namespace, guardedJWKS)}
	jwks.Data = map[string]string{v1alpha1.JWKSKey: keySet}
	add(store.ConfigMap, jwks)
	if namespace == "infra" {
		grant := &gwv1.ReferenceGrant{ObjectMeta: w.meta(namespace, "tenants")}
		for _, tenant := range tenants {
			grant.Spec.From = append(grant.Spec.From, gwv1.ReferenceGrantFrom{
				Group: v1alpha1.GroupName, Kind: "SecurityPolicy", Namespace: gwv1.Namespace(tenant),
			})
		}
		grant.Spec.To = []gwv1.ReferenceGrantTo{{Kind: "Secret"}}
		add(store.ReferenceGrant, grant)
	}
}

// userLine is a line of htpasswd. Each number is another password.
func userLine(name string, password byte) string {
	hash := make([]byte, 20)
	hash[0] = password
	return name + ":{SHA}" + base64.StdEncoding.EncodeToString(hash)
}

// guardedTarget is the Gateway, or a route of a tenant that may be there, and the namespace of its policies.
func (w Generator) guardedTarget() (namespace string, ref gwv1.LocalPolicyTargetReferenceWithSectionName) {
	ref.Group, ref.Kind, ref.Name = gwv1.GroupName, "Gateway", "one"
	if w.IntN(3) == 0 {
		return "infra", ref
	}
	namespace = pick(w, tenants...)
	ref.Kind, ref.Name = "HTTPRoute", gwv1.ObjectName(fmt.Sprintf("r%d", w.IntN(4)))
	if w.IntN(4) == 0 {
		ref.Kind, ref.Name = "GRPCRoute", gwv1.ObjectName(fmt.Sprintf("g%d", w.IntN(2)))
	}
	return namespace, ref
}

// GatewayPolicy is one more policy on the Gateway of [Generator.Guarded].
func (w Generator) GatewayPolicy() *v1alpha1.SecurityPolicy {
	p := w.guardingPolicy(0)
	p.ObjectMeta = w.meta("infra", "more")
	p.Spec.TargetRefs[0].Kind, p.Spec.TargetRefs[0].Name = "Gateway", "one"
	return p
}

func (w Generator) guardingPolicy(i int) *v1alpha1.SecurityPolicy {
	namespace, ref := w.guardedTarget()
	p := &v1alpha1.SecurityPolicy{ObjectMeta: w.meta(namespace, fmt.Sprintf("p%d", i))}
	p.Spec.TargetRefs = []gwv1.LocalPolicyTargetReferenceWithSectionName{ref}
	switch w.IntN(5) {
	case 0:
		p.Spec.Authorization = &v1alpha1.Authorization{Rules: []v1alpha1.AuthorizationRule{{
			Action: v1alpha1.AuthorizationAllow, Principal: &v1alpha1.AuthorizationPrincipal{ClientCIDRs: []v1alpha1.CIDR{"10.0.0.0/8"}},
		}}}
	case 1:
		p.Spec.ExtAuth = &v1alpha1.ExtAuth{GRPC: &v1alpha1.GRPCExtAuth{SecurityBackend: w.authServer()}}
	default:
		w.authenticate(&p.Spec)
		if w.IntN(3) == 0 {
			w.authenticate(&p.Spec)
			p.Spec.Authentication = pick(w, nil, &v1alpha1.Authentication{Require: new(v1alpha1.AuthenticationAny)})
		}
	}
	if w.IntN(4) == 0 {
		p.Spec.CSRF = &v1alpha1.CSRF{}
	}
	return p
}

func (w Generator) authServer() v1alpha1.SecurityBackend {
	return v1alpha1.SecurityBackend{
		BackendRef: &gwv1.BackendObjectReference{Name: pick(w, AuthServers...), Port: new(gwv1.PortNumber(80))},
	}
}

// authenticate has a policy ask for credentials of one kind.
func (w Generator) authenticate(spec *v1alpha1.SecurityPolicySpec) {
	infra := pick(w, nil, nil, new(gwv1.Namespace("infra")))
	switch w.IntN(3) {
	case 0:
		spec.BasicAuth = &v1alpha1.BasicAuth{Users: &gwv1.SecretObjectReference{Name: guardedUsers, Namespace: infra}}
	case 1:
		spec.APIKeyAuth = &v1alpha1.APIKeyAuth{
			CredentialRefs: []gwv1.SecretObjectReference{{Name: guardedKeys, Namespace: infra}},
			ExtractFrom:    []v1alpha1.ExtractFrom{{Headers: []string{"x-key"}}},
		}
	default:
		provider := v1alpha1.JWTProvider{Name: "p", LocalJWKS: &v1alpha1.LocalJWKS{
			Type: new(v1alpha1.LocalJWKSValueRef), ValueRef: &gwv1.LocalObjectReference{Kind: "ConfigMap", Name: guardedJWKS},
		}}
		if w.IntN(4) == 0 {
			provider.LocalJWKS = nil
			provider.RemoteJWKS = &v1alpha1.RemoteJWKS{SecurityBackend: w.authServer(), URI: "http://keys.example/jwks"}
		}
		spec.JWT = &v1alpha1.JWT{Providers: []v1alpha1.JWTProvider{provider}}
		if w.IntN(3) == 0 {
			spec.Authorization = &v1alpha1.Authorization{Rules: []v1alpha1.AuthorizationRule{{
				Action:    v1alpha1.AuthorizationAllow,
				Principal: &v1alpha1.AuthorizationPrincipal{JWT: &v1alpha1.JWTPrincipal{Provider: "p", Scopes: []string{"admin"}}},
			}}}
		}
	}
}

// Revoke returns the Secrets that policies read with other passwords and API keys.
func (w Generator) Revoke(objects []store.Change) []store.Change {
	var revoked []store.Change
	for _, c := range objects {
		secret, ok := c.Object.(*corev1.Secret)
		if !ok {
			continue
		}
		secret = secret.DeepCopy()
		switch secret.Name {
		case guardedUsers:
			secret.Data[v1alpha1.HtpasswdKey] = []byte(userLine("ali", 1))
		case guardedKeys:
			secret.Data = maps.Clone(secret.Data)
			delete(secret.Data, "eve")
		default:
			continue
		}
		c.Object = secret
		revoked = append(revoked, c)
	}
	return revoked
}

// breakReferent makes an object unfit for what refers to it.
func (w Generator) breakReferent(object store.Object) string {
	switch o := object.(type) {
	case *corev1.ConfigMap:
		if o.Name == guardedCA {
			o.Data = map[string]string{corev1.ServiceAccountRootCAKey: pick(w, "nonsense", "")}
			return "it has no certificates"
		}
		o.Data = map[string]string{v1alpha1.JWKSKey: pick(w, "nonsense", `{"keys":[]}`, "")}
		return "it has no keys"
	case *v1alpha1.Extension:
		o.Spec = v1alpha1.ExtensionSpec{ExtProc: []v1alpha1.ExtProc{{}}}
		return "its server is not named"
	case *corev1.Secret:
		return w.breakSecret(o)
	}
	return ""
}

func (w Generator) breakSecret(s *corev1.Secret) string {
	switch {
	case s.Name == guardedUsers:
		s.Data[v1alpha1.HtpasswdKey] = []byte(pick(w, "nonsense", "", "ali:plain"))
		return "it has no users"
	case s.Name != guardedKeys:
		s.Data[corev1.TLSPrivateKeyKey] = []byte("nonsense")
		return "its key does not go with its certificate"
	case w.coin():
		s.Labels = nil
		return "it lost its label"
	default:
		s.Data["eve"] = s.Data["ali"]
		return "two clients have the same API key"
	}
}
