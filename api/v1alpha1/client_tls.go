package v1alpha1

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TLSVersion is a version of TLS.
//
// +kubebuilder:validation:Enum=Auto;"1.0";"1.1";"1.2";"1.3"
type TLSVersion string

// The versions of TLS.
const (
	TLSAuto TLSVersion = "Auto"
	TLS10   TLSVersion = "1.0"
	TLS11   TLSVersion = "1.1"
	TLS12   TLSVersion = "1.2"
	TLS13   TLSVersion = "1.3"
)

// TLSSettings are the settings of TLS for either side of a proxy.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.ciphers) && has(self.minVersion) && self.minVersion == '1.3')",message="ciphers has no effect with minVersion 1.3; remove one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.maxVersion) || self.maxVersion == 'Auto' || (has(self.minVersion) && self.minVersion != 'Auto' ? self.minVersion <= self.maxVersion : self.maxVersion >= '1.2')",message="minVersion, 1.2 by default, must not be higher than maxVersion"
type TLSSettings struct {
	// MinVersion is the lowest version. The default, and Auto, is 1.2.
	//
	// +optional
	MinVersion *TLSVersion `json:"minVersion,omitempty"`

	// MaxVersion is the highest version. The default, and Auto, is 1.3.
	//
	// +optional
	MaxVersion *TLSVersion `json:"maxVersion,omitempty"`

	// Ciphers are the cipher suites for TLS up to 1.2, in BoringSSL's names, by preference.
	//
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	Ciphers []string `json:"ciphers,omitempty"`

	// ECDHCurves are the curves for the key exchange, in BoringSSL's names, by preference.
	//
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=atomic
	// +optional
	ECDHCurves []string `json:"ecdhCurves,omitempty"`

	// SignatureAlgorithms are the signature algorithms, in BoringSSL's names.
	//
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=atomic
	// +optional
	SignatureAlgorithms []string `json:"signatureAlgorithms,omitempty"`

	// ALPNProtocols are the protocols that are offered, by preference. An empty list offers none. The default is h2 and http/1.1.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	ALPNProtocols *[]ALPNProtocol `json:"alpnProtocols,omitempty"`

	// Fingerprints are computed of the client's ClientHello, for access logs and headers.
	//
	// +kubebuilder:validation:MaxItems=2
	// +listType=set
	// +optional
	Fingerprints []TLSFingerprint `json:"fingerprints,omitempty"`
}

// ALPNProtocol is a protocol that TLS can offer.
//
// +kubebuilder:validation:Enum=http/1.0;http/1.1;h2
type ALPNProtocol string

// TLSFingerprint is a fingerprint of a ClientHello.
//
// +kubebuilder:validation:Enum=JA3;JA4
type TLSFingerprint string

// The fingerprints.
const (
	FingerprintJA3 TLSFingerprint = "JA3"
	FingerprintJA4 TLSFingerprint = "JA4"
)

// ClientTLS are the settings of TLS that a listener terminates.
type ClientTLS struct {
	TLSSettings `json:",inline"`

	// ClientValidation asks clients for certificates. The standard has fields for it too, at `spec.tls.frontend` of a Gateway, and these win.
	//
	// +optional
	ClientValidation *ClientValidation `json:"clientValidation,omitempty"`

	// Session says how sessions are resumed.
	//
	// +optional
	Session *TLSSession `json:"session,omitempty"`
}

// ClientValidationMode says which certificates clients have to show.
//
// +kubebuilder:validation:Enum=Request;RequireAny;VerifyIfGiven;RequireAndVerify
type ClientValidationMode string

// The modes of client validation.
const (
	ClientRequest          ClientValidationMode = "Request"
	ClientRequireAny       ClientValidationMode = "RequireAny"
	ClientVerifyIfGiven    ClientValidationMode = "VerifyIfGiven"
	ClientRequireAndVerify ClientValidationMode = "RequireAndVerify"
)

// ClientValidation asks clients for certificates.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.mode) && has(self.optional))",message="set one of mode and optional"
// +kubebuilder:validation:XValidation:rule="has(self.caCertificateRefs) || (has(self.mode) ? self.mode == 'Request' || (self.mode != 'RequireAny' && (has(self.spkiHashes) || has(self.certificateHashes))) : has(self.spkiHashes) || has(self.certificateHashes))",message="set caCertificateRefs; only mode Request, and hashes with the modes that verify, do without"
// +kubebuilder:validation:XValidation:rule="!has(self.crl) || has(self.caCertificateRefs)",message="crl needs caCertificateRefs; set some"
type ClientValidation struct {
	// Mode says which certificates clients have to show. Request asks for one and takes any, or none. RequireAny takes any; it needs
	// caCertificateRefs too, since Envoy requires a certificate only then. VerifyIfGiven takes none, or a valid one. RequireAndVerify takes
	// a valid one only, and is the default.
	//
	// +optional
	Mode *ClientValidationMode `json:"mode,omitempty"`

	// Optional is mode VerifyIfGiven.
	//
	// +optional
	Optional *bool `json:"optional,omitempty"`

	// CACertificateRefs are ConfigMaps, Secrets or ClusterTrustBundles with the certificates of authorities, at ca.crt.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	CACertificateRefs []gwv1.SecretObjectReference `json:"caCertificateRefs,omitempty"`

	// SPKIHashes are SHA-256 hashes of public keys, in base64. A certificate with another key is not valid.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	// +optional
	SPKIHashes []string `json:"spkiHashes,omitempty"`

	// CertificateHashes are SHA-256 hashes of certificates, in hexadecimal. Another certificate is not valid.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	// +optional
	CertificateHashes []string `json:"certificateHashes,omitempty"`

	// SubjectAltNames are names of which a certificate must have one.
	//
	// +optional
	SubjectAltNames *SubjectAltNames `json:"subjectAltNames,omitempty"`

	// CRL has lists of certificates that are revoked. A list that is missing or cannot be read rejects every client.
	//
	// +optional
	CRL *ClientCRL `json:"crl,omitempty"`

	// AllowExpiredCertificate takes certificates whose time is over. The time of lists in crl does not count either.
	//
	// +optional
	AllowExpiredCertificate *bool `json:"allowExpiredCertificate,omitempty"`
}

// CRLKey is the key of a ConfigMap or a Secret with certificate revocation lists.
const CRLKey = "ca.crl"

// ClientCRL has lists of certificates that are revoked.
type ClientCRL struct {
	// Refs are ConfigMaps or Secrets with lists in PEM, at ca.crl. The kind is Secret by default. One in another namespace needs a
	// ReferenceGrant there.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +required
	Refs []gwv1.SecretObjectReference `json:"refs"`

	// OnlyVerifyLeafCertificate looks for the certificate of the client alone. By default those of its issuers are looked for too, and each
	// issuer needs a list, the root too.
	//
	// +optional
	OnlyVerifyLeafCertificate *bool `json:"onlyVerifyLeafCertificate,omitempty"`
}

// SubjectAltNames are names of which a certificate must have one. They have at most 16,384 characters together.
//
// +kubebuilder:validation:XValidation:rule="(has(self.dnsNames) ? self.dnsNames.map(m, size(m.value)).sum() : 0) + (has(self.emailAddresses) ? self.emailAddresses.map(m, size(m.value)).sum() : 0) + (has(self.ipAddresses) ? self.ipAddresses.map(m, size(m.value)).sum() : 0) + (has(self.uris) ? self.uris.map(m, size(m.value)).sum() : 0) + (has(self.otherNames) ? self.otherNames.map(m, size(m.value) + size(m.oid)).sum() : 0) <= 16384",message="names have at most 16384 characters together"
type SubjectAltNames struct {
	// DNSNames are names of hosts.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	DNSNames []StringMatch `json:"dnsNames,omitempty"`

	// EmailAddresses are email addresses.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	EmailAddresses []StringMatch `json:"emailAddresses,omitempty"`

	// IPAddresses are IP addresses.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	IPAddresses []StringMatch `json:"ipAddresses,omitempty"`

	// URIs are URIs, such as those of SPIFFE.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	URIs []StringMatch `json:"uris,omitempty"`

	// OtherNames are names of other types.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	OtherNames []OtherName `json:"otherNames,omitempty"`
}

// OtherName is a name of another type.
type OtherName struct {
	StringMatch `json:",inline"`

	// OID is the object identifier of the type.
	//
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[0-2](\.[0-9]+)+$`
	// +required
	OID string `json:"oid"`
}

// TLSSession says how sessions are resumed.
type TLSSession struct {
	// Resumption has the ways that are served. Without it none is.
	//
	// +optional
	Resumption *TLSResumption `json:"resumption,omitempty"`
}

// TLSResumption has the ways to resume a session. Keys and sessions are not shared between proxies: at another one the client does a
// whole handshake.
type TLSResumption struct {
	// Stateless is by session tickets.
	//
	// +optional
	Stateless *StatelessResumption `json:"stateless,omitempty"`

	// Stateful is by session identifiers.
	//
	// +optional
	Stateful *StatefulResumption `json:"stateful,omitempty"`
}

// StatelessResumption is by session tickets.
type StatelessResumption struct{}

// StatefulResumption is by session identifiers.
type StatefulResumption struct{}
