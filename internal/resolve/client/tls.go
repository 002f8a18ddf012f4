package client

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/tlsname"
)

func (c *converter) tls(t *v1alpha1.ClientTLS) ir.ClientTLS {
	p := ir.ClientTLS{
		MinVersion: version(t.MinVersion), MaxVersion: version(t.MaxVersion),
		Ciphers:             c.known("tls.ciphers", t.Ciphers, tlsname.CipherSuites),
		Curves:              c.known("tls.ecdhCurves", t.ECDHCurves, tlsname.Curves),
		SignatureAlgorithms: c.known("tls.signatureAlgorithms", t.SignatureAlgorithms, tlsname.SignatureAlgorithms),
	}
	if t.ALPNProtocols != nil {
		p.ALPN = &[]string{}
		for _, protocol := range *t.ALPNProtocols {
			*p.ALPN = append(*p.ALPN, string(protocol))
		}
	}
	if t.Session != nil {
		p.Resumption = &ir.TLSResumption{}
		if t.Session.Resumption != nil {
			p.Resumption.Stateless, p.Resumption.Stateful = t.Session.Resumption.Stateless != nil, t.Session.Resumption.Stateful != nil
		}
	}
	return p
}

// version is empty for the default.
func version(v *v1alpha1.TLSVersion) string {
	if is(v, v1alpha1.TLSAuto) {
		return ""
	}
	return text(v)
}

func (c *converter) known(field string, names, all []string) []string {
	for _, name := range names {
		// Suites of the same preference are in brackets.
		for alternative := range strings.SplitSeq(strings.Trim(name, "[]"), "|") {
			if !slices.Contains(all, alternative) {
				c.Fail("%s: %q is not known; use some of %s", field, alternative, strings.Join(all, ", "))
			}
		}
	}
	return names
}

// validation reads which certificates clients have to show, apart from references.
func (c *converter) validation(v *v1alpha1.ClientValidation) *ir.ClientValidation {
	mode := value(v.Mode)
	switch {
	case isTrue(v.Optional):
		mode = v1alpha1.ClientVerifyIfGiven
	case mode == "":
		mode = v1alpha1.ClientRequireAndVerify
	}
	p := &ir.ClientValidation{
		Fallback:     mode == v1alpha1.ClientRequest || mode == v1alpha1.ClientRequireAny,
		Optional:     mode == v1alpha1.ClientRequest || mode == v1alpha1.ClientVerifyIfGiven,
		AllowExpired: isTrue(v.AllowExpiredCertificate),
	}
	if mode == v1alpha1.ClientRequireAny && len(v.CACertificateRefs) == 0 {
		// Envoy would accept clients without a certificate.
		c.Fail("tls.clientValidation: mode RequireAny needs caCertificateRefs; set some")
	}
	p.SPKIHashes = c.hashes("tls.clientValidation.spkiHashes", "base64", v.SPKIHashes, decodeBase64)
	p.CertificateHashes = c.hashes("tls.clientValidation.certificateHashes", "hexadecimal", v.CertificateHashes, decodeHex)
	if v.SubjectAltNames != nil {
		p.Names = c.names(v.SubjectAltNames)
	}
	if len(p.Names) > 0 && len(v.CACertificateRefs) == 0 {
		// Anyone can write names into a certificate, so Envoy takes no listener that checks nothing else.
		c.Fail("tls.clientValidation.subjectAltNames needs caCertificateRefs; set some")
		p.Names = nil
	}
	if v.CRL != nil {
		p.OnlyLeaf = isTrue(v.CRL.OnlyVerifyLeafCertificate)
		if len(v.CACertificateRefs) == 0 {
			// Envoy takes no list without an authority.
			c.Fail("tls.clientValidation.crl needs caCertificateRefs; set some")
		}
		if len(v.CRL.Refs) == 0 {
			c.Fail("tls.clientValidation.crl.refs is empty; add a reference, or remove crl")
		}
	}
	return p
}

// hashes are SHA-256 hashes.
func (c *converter) hashes(field, encoding string, list []string, decode func(string) ([]byte, error)) []string {
	for _, hash := range list {
		if raw, err := decode(hash); err != nil || len(raw) != sha256.Size {
			c.Fail("%s: %q is not a SHA-256 hash in %s", field, hash, encoding)
		}
	}
	return list
}

// decodeBase64 takes no line breaks, as Envoy does.
func decodeBase64(hash string) ([]byte, error) {
	if strings.ContainsAny(hash, "\r\n") {
		return nil, errors.New("it has a line break")
	}
	return base64.StdEncoding.Strict().DecodeString(hash)
}

// decodeHex also takes the form with a colon between all bytes, as Envoy does.
func decodeHex(hash string) ([]byte, error) {
	raw, err := hex.DecodeString(strings.ReplaceAll(hash, ":", ""))
	if err == nil && strings.Contains(hash, ":") && !strings.EqualFold(hash, withColons(raw)) {
		return nil, errors.New("it has no colon between some bytes, or too many")
	}
	return raw, err
}

func withColons(raw []byte) string {
	bytes := make([]string, len(raw))
	for i := range raw {
		bytes[i] = hex.EncodeToString(raw[i : i+1])
	}
	return strings.Join(bytes, ":")
}

// names are those of which a certificate must have one.
func (c *converter) names(names *v1alpha1.SubjectAltNames) []ir.SubjectAltName {
	const field = "tls.clientValidation.subjectAltNames."
	var all []ir.SubjectAltName
	add := func(kind, name string, matches []v1alpha1.StringMatch) {
		for i, m := range matches {
			match, _ := c.Match(fmt.Sprintf("%s%s[%d]", field, name, i), m)
			all = append(all, ir.SubjectAltName{Kind: kind, Match: match})
		}
	}
	add(ir.SANDNS, "dnsNames", names.DNSNames)
	add(ir.SANEmail, "emailAddresses", names.EmailAddresses)
	add(ir.SANIP, "ipAddresses", names.IPAddresses)
	add(ir.SANURI, "uris", names.URIs)
	for i, other := range names.OtherNames {
		match, _ := c.Match(fmt.Sprintf("%sotherNames[%d]", field, i), other.StringMatch)
		all = append(all, ir.SubjectAltName{Kind: ir.SANOther, OID: other.OID, Match: match})
	}
	return all
}
