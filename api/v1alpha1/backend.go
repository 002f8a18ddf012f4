package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Backend is a destination that is not a Service: addresses, names outside the cluster, or Unix sockets. Routes of every kind use it as a
// backendRef.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories={gatewright,gateway-api},shortName=be
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Backend struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the destination.
	//
	// +required
	Spec BackendSpec `json:"spec"`

	// Status is what became of the Backend.
	//
	// +optional
	Status BackendStatus `json:"status,omitempty"`
}

// BackendList is a list of Backends.
//
// +kubebuilder:object:root=true
type BackendList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Backend `json:"items"`
}

// BackendStatus is what became of a Backend.
type BackendStatus struct {
	// Conditions are `Accepted` and `Programmed`.
	//
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BackendType says how the destination is found.
//
// +kubebuilder:validation:XValidation:rule="self != 'DynamicResolver'",message="type DynamicResolver is not supported, since clients would choose where proxies connect to; list the endpoints"
// +kubebuilder:validation:XValidation:rule="self in ['Endpoints', 'DynamicResolver']",message="type must be Endpoints"
// +kubebuilder:validation:MaxLength=32
type BackendType string

// BackendEndpoints lists the endpoints.
const BackendEndpoints BackendType = "Endpoints"

// BackendAppProtocol is the protocol of the endpoints.
//
// +kubebuilder:validation:Enum=kubernetes.io/h2c;kubernetes.io/ws;kubernetes.io/wss;gateway.envoyproxy.io/h2c;gateway.envoyproxy.io/ws;gateway.envoyproxy.io/wss
type BackendAppProtocol string

// BackendSpec is a destination.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'Endpoints' || has(self.endpoints)",message="list at least one endpoint"
type BackendSpec struct {
	// Type is Endpoints.
	//
	// +kubebuilder:default=Endpoints
	// +optional
	Type *BackendType `json:"type,omitempty"`

	// Endpoints are where requests are sent, in turn.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:XValidation:rule="self.all(e, has(e.fqdn)) || !self.exists(e, has(e.fqdn))",message="endpoints with fqdn cannot be beside others; use two Backends"
	// +listType=atomic
	// +optional
	Endpoints []BackendEndpoint `json:"endpoints,omitempty"`

	// AppProtocols is the protocol of the endpoints: h2c for HTTP/2 in plain text, ws and wss for WebSockets. The default is that of the
	// route.
	//
	// +kubebuilder:validation:MaxItems=1
	// +listType=atomic
	// +optional
	AppProtocols []BackendAppProtocol `json:"appProtocols,omitempty"`

	// Fallback gets requests only while the other backends of the rule are not healthy.
	//
	// +optional
	Fallback *bool `json:"fallback,omitempty"`

	// TLS encrypts the connections. The default is plain text.
	//
	// +optional
	TLS *BackendTLSSettings `json:"tls,omitempty"`
}

// BackendEndpoint is one place where requests are sent.
//
// +kubebuilder:validation:XValidation:rule="[has(self.fqdn), has(self.ip), has(self.unix)].filter(x, x).size() == 1",message="set exactly one of fqdn, ip and unix"
// +kubebuilder:validation:XValidation:rule="!has(self.hostname) || !has(self.fqdn)",message="an endpoint with fqdn has its hostname there; remove hostname"
type BackendEndpoint struct {
	// Hostname is the name of an endpoint with an address, for a rewritten host and for TLS.
	//
	// +optional
	Hostname *gwv1.PreciseHostname `json:"hostname,omitempty"`

	// FQDN is a name outside the cluster, which proxies resolve by DNS.
	//
	// +optional
	FQDN *FQDNEndpoint `json:"fqdn,omitempty"`

	// IP is an IPv4 or IPv6 address.
	//
	// +optional
	IP *IPEndpoint `json:"ip,omitempty"`

	// Unix is a Unix socket in the pods of the proxies. The operator must allow its directory.
	//
	// +optional
	Unix *UnixEndpoint `json:"unix,omitempty"`

	// Zone is the zone of the endpoint.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Zone *string `json:"zone,omitempty"`
}

// FQDNEndpoint is a name outside the cluster.
type FQDNEndpoint struct {
	// Hostname is the full name.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\.?$`
	// +required
	Hostname string `json:"hostname"`

	// Port is the port.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	Port int32 `json:"port"`
}

// IPEndpoint is an address.
type IPEndpoint struct {
	// Address is an IPv4 or IPv6 address. Those of the proxy itself, of its link and of metadata servers are rejected, and those that the
	// operator denies.
	//
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="write an IP address, such as 192.0.2.1 or 2001:db8::1"
	// +required
	Address string `json:"address"`

	// Port is the port.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	Port int32 `json:"port"`
}

// UnixEndpoint is a Unix socket.
type UnixEndpoint struct {
	// Path is the path of the socket in the pods of the proxies.
	//
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=107
	// +kubebuilder:validation:Pattern=`^/[^\x00]*$`
	// +required
	Path string `json:"path"`
}

// BackendTLSSettings are the settings of TLS to a Backend.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.sni) && has(self.autoSNIFromEndpointHostname) && self.autoSNIFromEndpointHostname)",message="set one of sni and autoSNIFromEndpointHostname"
// +kubebuilder:validation:XValidation:rule="[has(self.caCertificateRefs) && size(self.caCertificateRefs) > 0, has(self.wellKnownCACertificates), has(self.insecureSkipVerify) && self.insecureSkipVerify].filter(x, x).size() == 1",message="say which certificates are trusted by exactly one of caCertificateRefs, wellKnownCACertificates: System and insecureSkipVerify: true"
// +kubebuilder:validation:XValidation:rule="!has(self.fingerprints)",message="fingerprints are of clients, and have no meaning for a Backend; remove them"
type BackendTLSSettings struct {
	TLSSettings `json:",inline"`

	// CACertificateRefs are ConfigMaps or Secrets in the namespace of the Backend, with authorities in `ca.crt`.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	CACertificateRefs []gwv1.LocalObjectReference `json:"caCertificateRefs,omitempty"`

	// WellKnownCACertificates trusts the authorities of the proxy's image.
	//
	// +optional
	WellKnownCACertificates *gwv1.WellKnownCACertificatesType `json:"wellKnownCACertificates,omitempty"`

	// InsecureSkipVerify trusts every certificate. Then anyone on the way can read and change requests.
	//
	// +optional
	InsecureSkipVerify *bool `json:"insecureSkipVerify,omitempty"`

	// SNI is the name that the proxy asks for and that the certificate must have. The default is the host of each request. For
	// connections that are passed on it is the hostname of the endpoint.
	//
	// +optional
	SNI *gwv1.PreciseHostname `json:"sni,omitempty"`

	// AutoSNIFromEndpointHostname asks for the hostname of the endpoint.
	//
	// +optional
	AutoSNIFromEndpointHostname *bool `json:"autoSNIFromEndpointHostname,omitempty"`

	// ClientCertificateRef is a Secret with the key pair that the proxy shows. In another namespace it needs a ReferenceGrant.
	//
	// +optional
	ClientCertificateRef *gwv1.SecretObjectReference `json:"clientCertificateRef,omitempty"`
}
