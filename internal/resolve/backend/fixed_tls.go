package backend

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/tlsname"
	"github.com/gatewright/gatewright/internal/store"
)

// setTLS sets the TLS of the connections to a Backend.
func (f *Fixed) setTLS(v *store.View, objects *store.Objects, b *v1alpha1.Backend) {
	spec := b.Spec.TLS
	if spec == nil {
		return
	}
	from := refs.Origin{Group: v1alpha1.GroupName, Kind: string(store.Backend), Namespace: b.Namespace}
	own := ir.ObjectRef{Kind: string(store.Backend), Name: ir.Name{Namespace: b.Namespace, Name: b.Name}}
	f.TLS = &ir.BackendTLS{Inline: true, Origin: own}
	f.TLS.Settings, f.Accepted = tlsSettings(spec)
	if f.Accepted != nil {
		return
	}
	if spec.SNI != nil {
		f.TLS.ServerName = string(*spec.SNI)
		f.TLS.SubjectNames = []ir.SubjectName{{Value: f.TLS.ServerName}}
	}
	if !f.TLS.Settings.SkipVerify {
		trusted := &gwv1.BackendTLSPolicyValidation{
			CACertificateRefs: spec.CACertificateRefs, WellKnownCACertificates: spec.WellKnownCACertificates,
		}
		f.TLS.Authorities, f.Accepted, f.Partial = Trust(v, objects, from, trusted)
	}
	if f.Accepted == nil && spec.ClientCertificateRef != nil {
		certificate, problem := refs.Certificate(v, objects, from, *spec.ClientCertificateRef)
		f.TLS.ClientCertificate, f.Accepted = certificate.Name, problem
	}
}

// tlsSettings reads what only Backends say about TLS, and rejects what Envoy does not know.
func tlsSettings(spec *v1alpha1.BackendTLSSettings) (*ir.BackendTLSSettings, *refs.Problem) {
	for _, list := range []struct {
		field        string
		names, known []string
	}{
		{"tls.ciphers", spec.Ciphers, tlsname.CipherSuites},
		{"tls.ecdhCurves", spec.ECDHCurves, tlsname.Curves},
		{"tls.signatureAlgorithms", spec.SignatureAlgorithms, tlsname.SignatureAlgorithms},
	} {
		if unknown := tlsname.Unknown(list.names, list.known); unknown != "" {
			return nil, invalid(fmt.Sprintf("%s: %q is not known, so requests are answered 503; use some of %s",
				list.field, unknown, strings.Join(list.known, ", ")))
		}
	}
	s := &ir.BackendTLSSettings{
		SkipVerify: ptr.Deref(spec.InsecureSkipVerify, false), Ciphers: spec.Ciphers, Curves: spec.ECDHCurves,
		SignatureAlgorithms: spec.SignatureAlgorithms, MinVersion: tlsVersion(spec.MinVersion), MaxVersion: tlsVersion(spec.MaxVersion),
	}
	if s.MinVersion != "" && s.MaxVersion != "" && s.MinVersion > s.MaxVersion {
		return nil, invalid("tls.minVersion is higher than tls.maxVersion, so requests are answered 503; correct one of them")
	}
	if spec.ALPNProtocols != nil {
		s.ALPN = &[]string{}
		for _, protocol := range *spec.ALPNProtocols {
			*s.ALPN = append(*s.ALPN, string(protocol))
		}
	}
	switch {
	case spec.SNI != nil:
	case ptr.Deref(spec.AutoSNIFromEndpointHostname, false):
		s.NameOf = ir.NameOfEndpoint
	default:
		s.NameOf = ir.NameOfRequest
	}
	return s, nil
}

// tlsVersion is empty for the default.
func tlsVersion(v *v1alpha1.TLSVersion) string {
	if v == nil || *v == v1alpha1.TLSAuto {
		return ""
	}
	return string(*v)
}
