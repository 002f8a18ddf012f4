package ir

import "strings"

// HTTP3 is the port of the same number that serves HTTP/3. It has no chain if no listener of the port does.
func (p Port) HTTP3() Port {
	chains := p.Chains
	p.Protocol, p.Chains, p.Accept = QUIC, nil, nil
	for _, chain := range chains {
		if policy := chain.Client(); !policy.HTTP3 || policy.FailClosed || chain.RouteTable.IsZero() {
			continue
		}
		names := make([]string, len(chain.Certificates))
		for i, name := range chain.Certificates {
			names[i] = QUICCertificate(name)
		}
		chain.Certificates = names
		p.Chains = append(p.Chains, chain)
	}
	return p
}

// quicSuffix is at the end of the name by which QUIC listeners ask for a certificate. Envoy's QUIC supports fewer kinds of keys. A secret
// that it rejects is rejected for all listeners that use it, so they use another.
const quicSuffix = "|quic"

// QUICCertificate is the name of a [Certificate] for QUIC.
func QUICCertificate(name string) string { return name + quicSuffix }

// CertificateKey is the Secret's `namespace/name` of a certificate, for QUIC or not.
func CertificateKey(name string) string { return strings.TrimSuffix(name, quicSuffix) }
