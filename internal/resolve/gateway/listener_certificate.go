package gateway

import (
	"fmt"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// takeCertificates keeps the key pairs that resolve; a bad reference does not affect the others. It does not check whether a certificate is
// valid now, because that changes without an event: proxies present it, and the listener reports its validity.
func (l *Listener) takeCertificates(v *store.View, objects *store.Objects, e entry, found *findings) *refs.Problem {
	spec := e.spec
	if spec.TLS == nil || len(spec.TLS.CertificateRefs) == 0 {
		return &refs.Problem{
			Reason:  string(gwv1.ListenerReasonInvalidCertificateRef),
			Message: fmt.Sprintf("a listener that terminates %s needs tls.certificateRefs", spec.Protocol),
		}
	}
	var first *refs.Problem
	var earliest ir.Certificate
	for _, ref := range spec.TLS.CertificateRefs {
		certificate, problem := refs.Certificate(v, objects, refs.Origin{Kind: string(e.holder.kind), Namespace: e.holder.name.Namespace}, ref)
		if problem != nil {
			if first == nil {
				first = problem
			}
			continue
		}
		l.Certificates = append(l.Certificates, certificate.Name)
		if len(l.Certificates) == 1 || certificate.NotAfter.Before(earliest.NotAfter) {
			earliest = certificate
		}
	}
	if len(l.Certificates) > 0 {
		found.expires = fmt.Sprintf("; the certificate in Secret %s is valid from %s until %s",
			earliest.Name, earliest.NotBefore.UTC().Format(time.RFC3339), earliest.NotAfter.UTC().Format(time.RFC3339))
	}
	return first
}
