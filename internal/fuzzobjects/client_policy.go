package fuzzobjects

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

func (w Generator) clientTrafficPolicy() metav1.Object {
	p := &v1alpha1.ClientTrafficPolicy{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "c1", "c2"))}
	for range 1 + w.IntN(2) {
		p.Spec.TargetRefs = append(p.Spec.TargetRefs, w.listenerTarget(pick[gwv1.ObjectName](w, "one", "two")))
	}
	p.Spec.TargetSelectors = pick(w, nil, []v1alpha1.PolicyTargetSelector{{Kind: "Gateway"}})
	p.Spec.Strategy = pick(w, nil, new(v1alpha1.PolicyDefaults), new(v1alpha1.PolicyOverrides))
	p.Spec.ProxyProtocol = pick(w, nil, &v1alpha1.ProxyProtocol{})
	p.Spec.HealthCheck = pick(w, nil, &v1alpha1.ListenerHealthCheck{Path: "/healthz"})
	p.Spec.TLS = pick(w, nil, &v1alpha1.ClientTLS{TLSSettings: v1alpha1.TLSSettings{MinVersion: new(v1alpha1.TLS13)}}, &v1alpha1.ClientTLS{
		ClientValidation: &v1alpha1.ClientValidation{CACertificateRefs: []gwv1.SecretObjectReference{
			{Kind: new(pick[gwv1.Kind](w, "ConfigMap", "Secret")), Name: pick[gwv1.ObjectName](w, "ca", "cert", "missing")},
		}, CRL: pick(w, nil, nil, w.clientCRL())},
	})
	return p
}

func (w Generator) clientCRL() *v1alpha1.ClientCRL {
	return &v1alpha1.ClientCRL{OnlyVerifyLeafCertificate: pick(w, nil, new(true)), Refs: []gwv1.SecretObjectReference{
		{Kind: new(pick[gwv1.Kind](w, "ConfigMap", "ConfigMap", "Secret")), Name: pick[gwv1.ObjectName](w, "ca", "cert", "missing")},
	}}
}

// listenerTarget is a Gateway or a ListenerSet, or a listener of one.
func (w Generator) listenerTarget(name gwv1.ObjectName) gwv1.LocalPolicyTargetReferenceWithSectionName {
	return gwv1.LocalPolicyTargetReferenceWithSectionName{
		LocalPolicyTargetReference: gwv1.LocalPolicyTargetReference{
			Group: gwv1.GroupName, Kind: pick[gwv1.Kind](w, "Gateway", "Gateway", "ListenerSet", "GatewayClass", "HTTPRoute"), Name: name,
		},
		SectionName: pick(w, nil, nil, new(gwv1.SectionName("http")), new(gwv1.SectionName("https"))),
	}
}

func (w HostileGenerator) clientTrafficPolicy() metav1.Object {
	p := &v1alpha1.ClientTrafficPolicy{ObjectMeta: w.meta(HostileGateway.Namespace, pick(w.Generator, "c", "d"))}
	p.Spec.TargetRef = new(w.listenerTarget(gwv1.ObjectName(HostileGateway.Name)))
	p.Spec.TargetRef.Kind = "Gateway"
	p.Spec.TCPKeepalive = pick(
		w.Generator,
		nil,
		&v1alpha1.TCPKeepalive{Probes: new(1 + w.Int32N(127)), IdleTime: w.timeSpan(), Interval: w.timeSpan()},
	)
	p.Spec.ProxyProtocol = pick(w.Generator, nil, nil, &v1alpha1.ProxyProtocol{Optional: new(w.IntN(2) == 0)})
	p.Spec.ClientIPDetection = w.clientIPDetection()
	p.Spec.TLS = w.clientTLS()
	if w.IntN(2) == 0 {
		p.Spec.HTTP3 = &v1alpha1.HTTP3Settings{}
	}
	p.Spec.Path = pick(w.Generator, nil, &v1alpha1.PathSettings{
		EscapedSlashesAction: new(pick(w.Generator, v1alpha1.KeepUnchanged, v1alpha1.RejectRequest, v1alpha1.UnescapeAndForward)),
		DisableMergeSlashes:  new(w.IntN(2) == 0),
	})
	p.Spec.Headers = w.clientHeaders()
	p.Spec.Timeout = &v1alpha1.ClientTimeout{
		TCP: &v1alpha1.ClientTCPTimeout{IdleTimeout: w.timeSpan(), TLSHandshakeTimeout: w.timeSpan(), ConnectionInspectionTimeout: w.timeSpan()},
		HTTP: &v1alpha1.ClientHTTPTimeout{
			RequestReceivedTimeout:        w.timeSpan(),
			RequestHeadersReceivedTimeout: w.timeSpan(),
			IdleTimeout:                   w.timeSpan(),
			StreamIdleTimeout:             w.timeSpan(),
		},
	}
	p.Spec.Connection = &v1alpha1.ClientConnection{
		ConnectionLimit: &v1alpha1.ConnectionLimit{
			Value: new(1 + w.Int64N(1<<40)), CloseDelay: w.timeSpan(), MaxConnectionDuration: w.timeSpan(),
			MaxRequestsPerConnection: new(1 + w.Int32N(1<<30)), MaxStreamDuration: w.timeSpan(),
		},
		BufferLimit: w.size(), SocketBufferLimit: w.size(), MaxAcceptPerSocketEvent: new(w.Int32N(9)),
	}
	p.Spec.HTTP1 = &v1alpha1.ClientHTTP1{
		EnableTrailers: new(
			w.IntN(2) == 0,
		),
		PreserveHeaderCase:               new(w.IntN(2) == 0),
		HTTP10:                           &v1alpha1.HTTP10{UseDefaultHost: new(w.IntN(2) == 0)},
		DisableSafeMaxConnectionDuration: new(w.IntN(2) == 0),
		IgnoredUpgradeTypes:              w.stringMatches(),
	}
	p.Spec.HTTP2 = &v1alpha1.HTTP2Settings{
		InitialStreamWindowSize: w.size(), InitialConnectionWindowSize: w.size(), MaxConcurrentStreams: new(1 + w.Int64N(1<<31-1)),
		OnInvalidMessage: new(pick(w.Generator, v1alpha1.TerminateConnection, v1alpha1.TerminateStream)),
		ConnectionKeepalive: &v1alpha1.HTTP2Keepalive{
			Interval: w.timeSpan(), Timeout: w.timeSpan(), IntervalJitter: new(w.Int32N(101)), IdleInterval: w.timeSpan(),
		},
	}
	p.Spec.GRPC = &v1alpha1.ClientGRPC{EnableWeb: new(w.IntN(2) == 0)}
	p.Spec.HealthCheck = pick(w.Generator, nil, &v1alpha1.ListenerHealthCheck{Path: pick(w.Generator, "/", "/healthz", "/%zz")})
	p.Spec.Scheme = pick(w.Generator, nil, new(v1alpha1.SchemeMatchBackend))
	return p
}

func (w HostileGenerator) timeSpan() *gwv1.Duration {
	return pick(w.Generator, nil, new(pick[gwv1.Duration](w.Generator, "0s", "1ms", "1s", "10s", "5m", "1h", "99999h")))
}

func (w HostileGenerator) size() *resource.Quantity {
	return pick(w.Generator, nil, new(resource.MustParse(pick(w.Generator, "1", "1Ki", "65535", "64Ki", "1Mi", "2Gi", "2147483647", "9E"))))
}

func (w HostileGenerator) stringMatches() []v1alpha1.StringMatch {
	var matches []v1alpha1.StringMatch
	for range w.few(3) {
		matches = append(matches, v1alpha1.StringMatch{
			Type: pick(w.Generator, nil, new(v1alpha1.StringMatchExact), new(v1alpha1.StringMatchPrefix), new(v1alpha1.StringMatchSuffix),
				new(v1alpha1.StringMatchRegularExpression)),
			Value: pick(w.Generator, "h2c", "x-", "(", "a+b*", "[[:alpha:]]", "\\C", "(?P<a>b)", "%", "\u00e9"),
		})
	}
	return matches
}

func (w HostileGenerator) clientIPDetection() *v1alpha1.ClientIPDetection {
	return pick(w.Generator, nil,
		&v1alpha1.ClientIPDetection{DirectSourceIP: &v1alpha1.DirectSourceIP{}},
		&v1alpha1.ClientIPDetection{XForwardedFor: &v1alpha1.XForwardedFor{NumTrustedHops: new(w.Int32N(64))}},
		&v1alpha1.ClientIPDetection{XForwardedFor: &v1alpha1.XForwardedFor{
			TrustedCIDRs: []v1alpha1.CIDR{
				pick[v1alpha1.CIDR](w.Generator, "10.0.0.0/8", "10.1.2.3/8", "::/0", "2001:db8::1/128", "x"),
			},
			DisableXForwardedForAppend: new(w.IntN(2) == 0),
		}},
		&v1alpha1.ClientIPDetection{CustomHeader: &v1alpha1.ClientIPHeader{
			Name: gwv1.HTTPHeaderName(pick(w.Generator, "x-real-ip", "x-forwarded-for", w.token())), FailClosed: new(w.IntN(2) == 0),
		}})
}

func (w HostileGenerator) headerMutation() *v1alpha1.HeaderMutation {
	list := func() []gwv1.HTTPHeader {
		return pick(w.Generator, nil, []gwv1.HTTPHeader{{Name: gwv1.HTTPHeaderName(w.token()), Value: w.value()}})
	}
	return pick(w.Generator, nil, &v1alpha1.HeaderMutation{
		Set: list(), Add: list(), AddIfAbsent: list(), Remove: pick(w.Generator, nil, []string{w.token()}), RemoveOnMatch: w.stringMatches(),
	})
}

func (w HostileGenerator) clientHeaders() *v1alpha1.ClientHeaders {
	return pick(w.Generator, nil, &v1alpha1.ClientHeaders{
		EnableEnvoyHeaders: new(w.IntN(2) == 0),
		XForwardedClientCert: pick(w.Generator, nil, &v1alpha1.XForwardedClientCert{
			Mode: new(
				pick(
					w.Generator,
					v1alpha1.XFCCSanitize,
					v1alpha1.XFCCForwardOnly,
					v1alpha1.XFCCAppendForward,
					v1alpha1.XFCCSanitizeSet,
					v1alpha1.XFCCAlwaysForwardOnly,
				),
			),
			CertDetailsToAdd: []v1alpha1.XFCCCertData{
				v1alpha1.XFCCSubject,
				v1alpha1.XFCCCert,
				v1alpha1.XFCCChain,
				v1alpha1.XFCCDNS,
				v1alpha1.XFCCURI,
			},
		}),
		WithUnderscoresAction: pick(
			w.Generator,
			nil,
			new(v1alpha1.UnderscoresAllow),
			new(v1alpha1.UnderscoresDropHeader),
			new(v1alpha1.UnderscoresRejectRequest),
		),
		RequestID: pick(w.Generator, nil, new(v1alpha1.RequestIDDisable), new(v1alpha1.RequestIDGenerate), new(v1alpha1.RequestIDPreserve),
			new(v1alpha1.RequestIDPreserveOrGenerate)),
		EarlyRequestHeaders:   w.headerMutation(),
		LateResponseHeaders:   w.headerMutation(),
		Host:                  pick(w.Generator, nil, &v1alpha1.HostSettings{StripTrailingHostDot: new(false)}),
		MaxRequestHeaderLimit: w.size(),
	})
}

func (w HostileGenerator) clientTLS() *v1alpha1.ClientTLS {
	if w.IntN(3) == 0 {
		return nil
	}
	t := &v1alpha1.ClientTLS{TLSSettings: v1alpha1.TLSSettings{
		MinVersion: pick(w.Generator, nil, new(v1alpha1.TLSAuto), new(v1alpha1.TLS10), new(v1alpha1.TLS12), new(v1alpha1.TLS13)),
		MaxVersion: pick(w.Generator, nil, new(v1alpha1.TLSAuto), new(v1alpha1.TLS11), new(v1alpha1.TLS12), new(v1alpha1.TLS13)),
		Ciphers: pick(
			w.Generator,
			nil,
			[]string{"ECDHE-RSA-AES128-GCM-SHA256", "[ECDHE-ECDSA-AES128-GCM-SHA256|ECDHE-ECDSA-CHACHA20-POLY1305]"},
			[]string{"AES128-SHA"},
			[]string{"RC4"},
		),
		ECDHCurves:          pick(w.Generator, nil, []string{"X25519", "P-256"}, []string{"X25519MLKEM768"}, []string{"P-521", "P-384"}),
		SignatureAlgorithms: pick(w.Generator, nil, []string{"ecdsa_secp256r1_sha256", "rsa_pss_rsae_sha256"}, []string{"ed25519"}),
		ALPNProtocols: pick(
			w.Generator,
			nil,
			&[]v1alpha1.ALPNProtocol{},
			&[]v1alpha1.ALPNProtocol{"h2"},
			&[]v1alpha1.ALPNProtocol{"http/1.1", "http/1.0"},
		),
		Fingerprints: pick(w.Generator, nil, []v1alpha1.TLSFingerprint{v1alpha1.FingerprintJA3, v1alpha1.FingerprintJA4}),
	}}
	t.Session = pick(
		w.Generator,
		nil,
		&v1alpha1.TLSSession{},
		&v1alpha1.TLSSession{Resumption: &v1alpha1.TLSResumption{Stateless: &v1alpha1.StatelessResumption{}}},
	)
	if w.IntN(2) == 0 {
		t.ClientValidation = &v1alpha1.ClientValidation{
			Mode: pick(
				w.Generator,
				nil,
				new(v1alpha1.ClientRequest),
				new(v1alpha1.ClientRequireAny),
				new(v1alpha1.ClientVerifyIfGiven),
				new(v1alpha1.ClientRequireAndVerify),
			),
			CACertificateRefs: pick(w.Generator, nil, []gwv1.SecretObjectReference{
				{Kind: new(gwv1.Kind("ConfigMap")), Name: pick[gwv1.ObjectName](w.Generator, "ca", "missing")},
			}),
			SPKIHashes: pick(w.Generator, nil, []string{"NvqYIYSbgK2vCJpQhObf77vv+bQWtc5ek5RIOwPiC9A="}, []string{"x"}),
			CertificateHashes: pick(
				w.Generator,
				nil,
				[]string{"df6ff72fe9116521268f6f2dd4966f51df479883fe7037b39f75916ac3049d1a"},
				[]string{"y"},
			),
			SubjectAltNames: pick(
				w.Generator,
				nil,
				&v1alpha1.SubjectAltNames{
					DNSNames: w.stringMatches(),
					URIs:     w.stringMatches(),
					OtherNames: []v1alpha1.OtherName{
						{StringMatch: v1alpha1.StringMatch{Value: "a"}, OID: pick(w.Generator, "1.3.6.1.4.1.311.20.2.3", "2.5.29.17", "1.2")},
					},
				},
			),
			AllowExpiredCertificate: new(w.IntN(2) == 0),
			CRL:                     pick(w.Generator, nil, w.clientCRL()),
		}
	}
	return t
}
