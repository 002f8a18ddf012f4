package fuzzobjects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

func (w Generator) fixedBackend() metav1.Object {
	b := &v1alpha1.Backend{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "b1", "b2"))}
	b.Spec.Endpoints = []v1alpha1.BackendEndpoint{{IP: &v1alpha1.IPEndpoint{
		Address: pick(w, "192.0.2.1", "2001:db8::1", "127.0.0.1"), Port: 8080,
	}}}
	if w.coin() {
		b.Spec.Endpoints = []v1alpha1.BackendEndpoint{{FQDN: &v1alpha1.FQDNEndpoint{
			Hostname: pick(w, "api.example.com", "db.finance.svc.cluster.local"), Port: 443,
		}}}
	}
	b.Spec.Fallback = pick(w, nil, new(w.coin()))
	b.Spec.AppProtocols = pick(w, nil, []v1alpha1.BackendAppProtocol{"kubernetes.io/h2c"}, []v1alpha1.BackendAppProtocol{"kubernetes.io/wss"})
	if w.coin() {
		b.Spec.TLS = &v1alpha1.BackendTLSSettings{
			SNI: pick(w, nil, new(gwv1.PreciseHostname("api.example.com"))),
			CACertificateRefs: []gwv1.LocalObjectReference{{
				Kind: pick[gwv1.Kind](w, "ConfigMap", "Secret"), Name: pick[gwv1.ObjectName](w, "ca", "missing"),
			}},
		}
	}
	return b
}

// fixedBackendRef refers to a Backend.
func (w Generator) fixedBackendRef() gwv1.BackendObjectReference {
	return gwv1.BackendObjectReference{
		Group: new(gwv1.Group(v1alpha1.GroupName)), Kind: new(gwv1.Kind("Backend")), Name: pick[gwv1.ObjectName](w, "b1", "b2"),
	}
}

func (w HostileGenerator) fixedBackend() metav1.Object {
	b := &v1alpha1.Backend{ObjectMeta: w.namespaced("b1", "b2")}
	named := w.coin()
	for range 1 + w.few(20) {
		b.Spec.Endpoints = append(b.Spec.Endpoints, w.fixedEndpoint(named))
	}
	b.Spec.Fallback = maybe(w, w.coin())
	if w.IntN(3) == 0 {
		b.Spec.AppProtocols = []v1alpha1.BackendAppProtocol{pick[v1alpha1.BackendAppProtocol](
			w.Generator, "kubernetes.io/h2c", "kubernetes.io/ws", "kubernetes.io/wss", "gateway.envoyproxy.io/h2c",
		)}
	}
	if w.coin() {
		b.Spec.TLS = w.fixedTLS()
	}
	return b
}

func (w HostileGenerator) fixedEndpoint(named bool) v1alpha1.BackendEndpoint {
	e := v1alpha1.BackendEndpoint{Zone: maybe(w, pick(w.Generator, "a", "b", "zone/1"))}
	switch {
	case named:
		e.FQDN = &v1alpha1.FQDNEndpoint{Hostname: pick(w.Generator, "api.example.com", "a.b.example", w.hostname()), Port: w.port()}
	case w.IntN(6) == 0:
		e.Unix = &v1alpha1.UnixEndpoint{Path: pick(w.Generator, "/run/sockets/a.sock", "/run/sockets/../a", "/etc/passwd")}
	default:
		e.IP = &v1alpha1.IPEndpoint{Address: pick(
			w.Generator, "192.0.2.1", "192.0.2.2", "203.0.113.9", "2001:db8::1", "::ffff:192.0.2.1",
			"127.0.0.1", "169.254.169.254", "fe80::1%eth0", "",
		), Port: w.port()}
		if w.IntN(2) == 0 {
			e.IP.Address = "192.0.2.7"
		}
		e.Hostname = maybe(w, gwv1.PreciseHostname(w.hostname()))
	}
	return e
}

func (w HostileGenerator) fixedTLS() *v1alpha1.BackendTLSSettings {
	t := &v1alpha1.BackendTLSSettings{SNI: maybe(w, gwv1.PreciseHostname(w.hostname()))}
	switch w.IntN(3) {
	case 0:
		t.InsecureSkipVerify = new(true)
	case 1:
		t.WellKnownCACertificates = new(gwv1.WellKnownCACertificatesSystem)
	default:
		t.CACertificateRefs = []gwv1.LocalObjectReference{{Kind: pick[gwv1.Kind](w.Generator, "ConfigMap", "Secret"), Name: "ca"}}
	}
	if t.SNI == nil {
		t.AutoSNIFromEndpointHostname = maybe(w, w.coin())
	}
	t.MinVersion = maybe(w, pick(w.Generator, v1alpha1.TLSAuto, v1alpha1.TLS12))
	t.MaxVersion = maybe(w, v1alpha1.TLS13)
	t.Ciphers = pick(
		w.Generator, nil, []string{"ECDHE-RSA-AES128-GCM-SHA256"}, []string{"[ECDHE-RSA-AES128-GCM-SHA256|AES128-SHA]"}, []string{"none"},
	)
	t.ECDHCurves = pick(w.Generator, nil, []string{"X25519", "P-256"})
	t.SignatureAlgorithms = pick(w.Generator, nil, []string{"rsa_pss_rsae_sha256"})
	t.ALPNProtocols = pick(w.Generator, nil, &[]v1alpha1.ALPNProtocol{}, &[]v1alpha1.ALPNProtocol{"h2", "http/1.1"})
	if w.IntN(3) == 0 {
		t.ClientCertificateRef = &gwv1.SecretObjectReference{Name: w.secretName()}
	}
	return t
}
