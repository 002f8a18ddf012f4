package store

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/fields"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
)

// trimNamespace keeps the labels, which is all that selectors look at.
func trimNamespace(n *corev1.Namespace) {
	if n.Annotations != nil {
		n.Annotations = nil
	}
}

// unusedSecrets are the types of Secrets that nothing refers to. They are not watched.
var unusedSecrets = []corev1.SecretType{
	corev1.SecretTypeServiceAccountToken, corev1.SecretTypeDockerConfigJson, corev1.SecretTypeDockercfg, corev1.SecretTypeBasicAuth,
	corev1.SecretTypeSSHAuth, corev1.SecretTypeBootstrapToken, "helm.sh/release.v1",
}

func withoutTypes(types []corev1.SecretType) []fields.Selector {
	var all []fields.Selector
	for _, t := range types {
		all = append(all, fields.OneTermNotEqualSelector("type", string(t)))
	}
	return all
}

// servedSecretKeys are the keys of Secrets that are read. Of Secrets with [v1alpha1.PolicyDataLabel] all are.
var servedSecretKeys = []string{
	corev1.TLSCertKey, corev1.TLSPrivateKeyKey, corev1.ServiceAccountRootCAKey, v1alpha1.HtpasswdKey,
	v1alpha1.OIDCClientIDKey, v1alpha1.OIDCClientSecretKey, v1alpha1.InjectedCredentialKey, v1alpha1.CRLKey,
}

// trimSecret keeps nothing secret in memory that is not served: a Secret may have key stores, passwords and more.
func trimSecret(s *corev1.Secret) {
	if s.Annotations != nil {
		s.Annotations = nil
	}
	if !policyData(s.Labels) {
		s.Data = only(s.Data, servedSecretKeys)
	}
}

func policyData(labels map[string]string) bool {
	_, labelled := labels[v1alpha1.PolicyDataLabel]
	return labelled
}

// only is a map with these keys alone: the same map if it has no others.
func only(data map[string][]byte, keys []string) map[string][]byte {
	served := make(map[string][]byte, len(keys))
	for _, key := range keys {
		if value, ok := data[key]; ok {
			served[key] = value
		}
	}
	switch {
	case len(served) == len(data):
		return data
	case len(served) == 0:
		return nil
	default:
		return served
	}
}

// ResponseBodyKey is the key of a ConfigMap that has the body of a response.
const ResponseBodyKey = "response.body"

// LuaKey is the key of a ConfigMap that has a Lua script.
const LuaKey = "lua"

// certificateKeys are the keys of a ConfigMap with certificates of authorities, and with lists of what they revoked.
var certificateKeys = []string{corev1.ServiceAccountRootCAKey, v1alpha1.CRLKey}

// textKeys are the keys of a ConfigMap that are read, beside certificateKeys. Of ConfigMaps with [v1alpha1.PolicyDataLabel] all are.
var textKeys = []string{ResponseBodyKey, LuaKey, v1alpha1.JWKSKey}

// maxText is the size of the longest text that is kept. No longer one is served.
const maxText = 256 << 10

// trimConfigMap keeps certificates of authorities, lists of revoked ones, and texts that proxies serve: no other key is read. In a
// ConfigMap with [v1alpha1.PolicyDataLabel] each key may be such a text.
func trimConfigMap(c *corev1.ConfigMap) {
	if c.Annotations != nil {
		c.Annotations = nil
	}
	if c.BinaryData != nil {
		c.BinaryData = only(c.BinaryData, certificateKeys)
	}
	switch {
	case c.Data == nil:
	case policyData(c.Labels):
		c.Data = servedText(c.Data, slices.Collect(maps.Keys(c.Data)))
	default:
		c.Data = servedText(c.Data, textKeys)
	}
}

// servedText are the keys of a ConfigMap that are read. A text that is too long is cut, so that its reader still finds it too long.
func servedText(data map[string]string, texts []string) map[string]string {
	var served map[string]string
	keep := func(key, value string) {
		if served == nil {
			served = map[string]string{}
		}
		served[key] = value
	}
	for _, key := range certificateKeys {
		if text, ok := data[key]; ok {
			keep(key, text)
		}
	}
	for _, key := range texts {
		if text, ok := data[key]; ok && !slices.Contains(certificateKeys, key) {
			keep(key, strings.Clone(text[:min(len(text), maxText+1)]))
		}
	}
	return served
}

// trimNode keeps the labels and the addresses: a Node has a long list of images, and changes often.
func trimNode(n *corev1.Node) {
	if n.Annotations != nil {
		n.Annotations = nil
	}
	if !equality.Semantic.DeepEqual(n.Spec, corev1.NodeSpec{}) {
		n.Spec = corev1.NodeSpec{}
	}
	if kept := (corev1.NodeStatus{Addresses: n.Status.Addresses}); !equality.Semantic.DeepEqual(n.Status, kept) {
		n.Status = kept
	}
}

// trimEndpointSlice keeps where endpoints are and how they are. It keeps which pod stands behind them only for the proxies of a Gateway
// and for the rate limit service.
func trimEndpointSlice(s *discoveryv1.EndpointSlice) {
	if s.Annotations != nil {
		s.Annotations = nil
	}
	tracked := s.Labels[gwv1.GatewayNameLabelKey] != "" || s.Labels[discoveryv1.LabelServiceName] == ir.RateLimitServiceName
	for i := range s.Endpoints {
		endpoint := &s.Endpoints[i]
		if endpoint.TargetRef != nil && !tracked {
			endpoint.TargetRef = nil
		}
		if endpoint.DeprecatedTopology != nil {
			endpoint.DeprecatedTopology = nil
		}
	}
}
