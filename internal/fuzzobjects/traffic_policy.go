package fuzzobjects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

func (w Generator) trafficPolicy() metav1.Object {
	p := &v1alpha1.BackendTrafficPolicy{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "b1", "b2", "b3"))}
	for range 1 + w.IntN(2) {
		p.Spec.TargetRefs = append(p.Spec.TargetRefs, w.anyTarget("one", "r1", "s1", "x1"))
	}
	p.Spec.TargetSelectors = pick(w, nil, nil, []v1alpha1.PolicyTargetSelector{{Kind: pick[gwv1.Kind](w, "Gateway", "HTTPRoute")}})
	p.Spec.Strategy = pick(w, nil, new(v1alpha1.PolicyDefaults), new(v1alpha1.PolicyOverrides))
	p.Spec.Timeout = pick(w, nil, &v1alpha1.BackendTimeout{
		TCP: &v1alpha1.BackendTCPTimeout{ConnectTimeout: pick(w, nil, new(gwv1.Duration("1s")), new(gwv1.Duration("0s")))},
		HTTP: &v1alpha1.BackendHTTPTimeout{
			RequestTimeout:        pick(w, nil, new(gwv1.Duration("1s")), new(gwv1.Duration("2s"))),
			MaxConnectionDuration: pick(w, nil, new(gwv1.Duration("1m"))),
		},
	})
	p.Spec.Retry = pick(w, nil, &v1alpha1.BackendRetry{NumRetries: new(w.Int32N(3))})
	p.Spec.LoadBalancer = pick(w, nil, &v1alpha1.LoadBalancer{Type: v1alpha1.LoadBalancerRandom})
	p.Spec.CircuitBreaker = pick(w, nil, &v1alpha1.CircuitBreaker{MaxConnections: new(w.Int64N(2))})
	p.Spec.RateLimit = pick(w, nil, &v1alpha1.RateLimit{Global: &v1alpha1.GlobalRateLimit{Rules: []v1alpha1.RateLimitRule{{
		Limit: v1alpha1.RateLimitValue{Requests: 1 + w.Int64N(3), Unit: "Hour"}, Shared: pick(w, nil, new(true)),
	}}}})
	return p
}

// anyTarget is an object of any kind that an inherited policy can target, or a section of it, named after the kind of object.
func (w Generator) anyTarget(gateway, route, service, xbackend gwv1.ObjectName) gwv1.LocalPolicyTargetReferenceWithSectionName {
	ref := gwv1.LocalPolicyTargetReferenceWithSectionName{
		SectionName: pick(w, nil, nil, nil, new(gwv1.SectionName("http")), new(gwv1.SectionName("l0"))),
	}
	switch w.IntN(6) {
	case 0, 1:
		ref.Group, ref.Kind, ref.Name = gwv1.GroupName, pick[gwv1.Kind](w, "Gateway", "Gateway", "ListenerSet", "GatewayClass"), gateway
	case 2:
		ref.Kind, ref.Name = "Service", service
	case 3:
		ref.Group, ref.Kind, ref.Name = gwxv1alpha1.GroupName, "XBackend", xbackend
		if w.IntN(3) == 0 {
			ref.Group, ref.Kind, ref.Name = inferencev1.GroupName, "InferencePool", "p1"
		} else if w.IntN(3) == 0 {
			ref.Group, ref.Kind, ref.Name = mcsv1beta1.GroupName, "ServiceImport", "i1"
		}
	default:
		ref.Group, ref.Name = gwv1.GroupName, route
		ref.Kind = pick[gwv1.Kind](w, "HTTPRoute", "HTTPRoute", "HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute")
	}
	return ref
}

func (w HostileGenerator) trafficPolicy() metav1.Object {
	p := &v1alpha1.BackendTrafficPolicy{ObjectMeta: w.meta(HostileGateway.Namespace, pick(w.Generator, "b1", "b2", "b3", "b4"))}
	for range 1 + w.few(3) {
		p.Spec.TargetRefs = append(p.Spec.TargetRefs, w.anyTarget(
			gwv1.ObjectName(HostileGateway.Name), pick[gwv1.ObjectName](w.Generator, "r1", "r2", "r3"),
			pick[gwv1.ObjectName](w.Generator, "s1", "s2"), pick[gwv1.ObjectName](w.Generator, "x1", "x2"),
		))
	}
	p.Spec.Strategy = pick(w.Generator, nil, new(v1alpha1.PolicyOverrides))
	p.Spec.Timeout = &v1alpha1.BackendTimeout{
		TCP: &v1alpha1.BackendTCPTimeout{ConnectTimeout: w.timeSpan()},
		HTTP: &v1alpha1.BackendHTTPTimeout{
			ConnectionIdleTimeout: w.timeSpan(), MaxConnectionDuration: w.timeSpan(), RequestTimeout: w.timeSpan(),
			MaxStreamDuration: w.timeSpan(), StreamIdleTimeout: w.timeSpan(),
		},
	}
	p.Spec.Retry = w.retryPolicy()
	w.requestSettings(&p.Spec)
	w.destinationSettings(&p.Spec)
	return p
}

func (w HostileGenerator) retryPolicy() *v1alpha1.BackendRetry {
	r := &v1alpha1.BackendRetry{NumRetries: new(w.Int32N(101)), NumAttemptsPerPriority: pick(w.Generator, nil, new(w.Int32N(101)))}
	if w.coin() {
		r.RetryOn = &v1alpha1.RetryOn{
			Triggers: pick(w.Generator, nil, []v1alpha1.RetryTrigger{"5xx", "retriable-4xx", "retriable-status-codes"},
				[]v1alpha1.RetryTrigger{"cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable", "reset"}),
			HTTPStatusCodes: pick(w.Generator, nil, []v1alpha1.HTTPStatus{100, 599, 404}),
		}
	}
	if w.coin() {
		r.PerRetry = &v1alpha1.PerRetry{Timeout: w.timeSpan(), BackOff: pick(w.Generator, nil, &v1alpha1.BackOff{
			BaseInterval: w.timeSpan(), MaxInterval: w.timeSpan(),
		})}
	}
	return pick(w.Generator, nil, r)
}

// destinationSettings has odd settings of connections to backends.
func (w HostileGenerator) destinationSettings(s *v1alpha1.BackendTrafficPolicySpec) {
	s.LoadBalancer = w.loadBalancer()
	s.HealthCheck = pick(w.Generator, nil, &v1alpha1.HealthCheck{
		Active: w.activeHealthCheck(), PanicThreshold: pick(w.Generator, nil, new(w.Int32N(101))),
		Passive: pick(w.Generator, nil, &v1alpha1.PassiveHealthCheck{
			SplitExternalLocalOriginErrors: new(w.coin()), Interval: w.timeSpan(), BaseEjectionTime: w.timeSpan(),
			ConsecutiveLocalOriginFailures: new(w.Int32N(3)), ConsecutiveGatewayErrors: new(w.Int32N(3)),
			Consecutive5xxErrors: new(w.Int32N(3)),
			MaxEjectionPercent:   new(w.Int32N(101)), FailurePercentageThreshold: pick(w.Generator, nil, new(w.Int32N(101))),
			AlwaysEjectOneEndpoint: new(w.coin()),
		}),
	})
	s.CircuitBreaker = pick(w.Generator, nil, &v1alpha1.CircuitBreaker{
		MaxConnections: w.limit(), MaxPendingRequests: w.limit(), MaxParallelRequests: w.limit(), MaxParallelRetries: w.limit(),
		MaxRequestsPerConnection: w.limit(), PerEndpoint: &v1alpha1.PerEndpointCircuitBreaker{MaxConnections: w.limit()},
		RetryBudget: pick(w.Generator, nil, &v1alpha1.RetryBudget{
			Percent: gwv1.Fraction{Numerator: w.Int32N(101), Denominator: pick(w.Generator, nil, new(int32(100)), new(int32(1000)))},
		}),
	})
	s.Connection = pick(w.Generator, nil, &v1alpha1.BackendConnection{
		BufferLimit: w.size(), SocketBufferLimit: w.size(),
		Preconnect: pick(w.Generator, nil, &v1alpha1.Preconnect{
			PerEndpointPercent: pick(w.Generator, nil, new(100+w.Int32N(201))), PredictivePercent: pick(w.Generator, nil,
				new(100+w.Int32N(201))),
		}),
	})
	s.HTTP2 = pick(w.Generator, nil, &v1alpha1.HTTP2Settings{
		InitialStreamWindowSize: w.size(), InitialConnectionWindowSize: w.size(), MaxConcurrentStreams: new(1 + w.Int64N(1<<31-1)),
		OnInvalidMessage: new(v1alpha1.TerminateConnection),
		ConnectionKeepalive: &v1alpha1.HTTP2Keepalive{
			Interval: w.timeSpan(), Timeout: w.timeSpan(), IntervalJitter: new(w.Int32N(101)), IdleInterval: w.timeSpan(),
		},
	})
	s.TCPKeepalive = pick(w.Generator, nil, &v1alpha1.TCPKeepalive{Probes: new(1 + w.Int32N(127)), IdleTime: w.timeSpan()})
	s.ProxyProtocol = pick(w.Generator, nil, nil, &v1alpha1.BackendProxyProtocol{
		Version: pick(w.Generator, v1alpha1.ProxyProtocolV1, v1alpha1.ProxyProtocolV2),
	})
	s.DNS = pick(w.Generator, nil, &v1alpha1.BackendDNS{
		DNSRefreshRate: w.timeSpan(), RespectDNSTTL: new(w.coin()),
		LookupFamily: new(pick(w.Generator, v1alpha1.DNSLookupIPv4, v1alpha1.DNSLookupIPv6, v1alpha1.DNSLookupBoth)),
	})
	s.UseClientProtocol = pick(w.Generator, nil, new(w.coin()))
}

func (w HostileGenerator) limit() *int64 {
	return pick(w.Generator, nil, new(int64(0)), new(int64(1)), new(int64(4294967295)))
}

func (w HostileGenerator) loadBalancer() *v1alpha1.LoadBalancer {
	b := &v1alpha1.LoadBalancer{Type: pick(w.Generator, v1alpha1.LoadBalancerConsistentHash, v1alpha1.LoadBalancerLeastRequest,
		v1alpha1.LoadBalancerRandom, v1alpha1.LoadBalancerRoundRobin, v1alpha1.LoadBalancerBackendUtilization)}
	switch b.Type {
	case v1alpha1.LoadBalancerConsistentHash:
		b.ConsistentHash = pick(w.Generator,
			&v1alpha1.ConsistentHash{Type: v1alpha1.HashSourceIP, TableSize: pick(w.Generator, nil, new(int64(2)),
				new(int64(4)), new(int64(65537)))},
			&v1alpha1.ConsistentHash{Type: v1alpha1.HashByHeader, Header: &v1alpha1.HashHeader{Name: gwv1.HTTPHeaderName(w.token())}},
			&v1alpha1.ConsistentHash{Type: v1alpha1.HashByHeaders, Headers: []v1alpha1.HashHeader{
				{Name: "a"},
				{Name: gwv1.HTTPHeaderName(w.token())},
			}},
			&v1alpha1.ConsistentHash{Type: v1alpha1.HashByParameter, QueryParams: []v1alpha1.HashQueryParam{{Name: w.value()}}},
			&v1alpha1.ConsistentHash{Type: v1alpha1.HashByCookie, Cookie: &v1alpha1.HashCookie{
				Name: w.token(), TTL: w.timeSpan(), Attributes: pick(w.Generator, nil, map[string]string{w.token(): w.value()}),
			}})
	case v1alpha1.LoadBalancerBackendUtilization:
		b.BackendUtilization = pick(w.Generator, nil, &v1alpha1.BackendUtilization{
			BlackoutPeriod: w.timeSpan(), WeightExpirationPeriod: w.timeSpan(), WeightUpdatePeriod: w.timeSpan(),
			ErrorUtilizationPenaltyPercent: new(w.Int32N(10001)), OutOfBand: pick(w.Generator, nil, &v1alpha1.OutOfBandReporting{
				ReportingPeriod: w.timeSpan(), Port: new(1 + w.Int32N(65535)),
			}), KeepResponseHeaders: pick(w.Generator, nil, new(w.coin())),
		})
	default:
	}
	if b.Type == v1alpha1.LoadBalancerRoundRobin || b.Type == v1alpha1.LoadBalancerLeastRequest {
		b.SlowStart = pick(w.Generator, nil, &v1alpha1.SlowStart{Window: pick[gwv1.Duration](w.Generator, "0s", "1ms", "1h", "99999h")})
	}
	b.EndpointOverride = pick(w.Generator, nil, nil, &v1alpha1.EndpointOverride{
		ExtractFrom: []v1alpha1.EndpointOverrideSource{{Header: gwv1.HTTPHeaderName(w.token())}},
	})
	return pick(w.Generator, nil, b)
}

func (w HostileGenerator) activeHealthCheck() *v1alpha1.ActiveHealthCheck {
	h := &v1alpha1.ActiveHealthCheck{
		Timeout: w.timeSpan(), Interval: w.timeSpan(), InitialJitter: w.timeSpan(), UnhealthyThreshold: new(1 + w.Int32N(3)),
		Type: pick(w.Generator, v1alpha1.HealthCheckHTTP, v1alpha1.HealthCheckTCP, v1alpha1.HealthCheckGRPC),
		HealthCheckLog: pick(w.Generator, nil, &v1alpha1.HealthCheckLog{Sinks: []v1alpha1.HealthCheckLogSink{{
			Type: "File", File: v1alpha1.HealthCheckLogFile{Path: pick(w.Generator, "/dev/stdout", "/dev/stderr", "/etc/passwd")},
		}}}),
	}
	payload := pick(w.Generator, nil, &v1alpha1.HealthCheckPayload{Type: "Text", Text: new(w.value())},
		&v1alpha1.HealthCheckPayload{Type: "Binary", Binary: []byte{0, 255}})
	switch h.Type {
	case v1alpha1.HealthCheckHTTP:
		h.HTTP = &v1alpha1.HTTPHealthCheck{
			Path: pick(w.Generator, "/", "/healthz", "x y", w.value()), Method: pick(w.Generator, nil, new("POST")),
			ExpectedResponse: payload,
			ExpectedStatuses: pick(w.Generator, nil, []v1alpha1.HTTPStatus{100, 599}), RetriableStatuses: pick(w.Generator,
				nil, []v1alpha1.HTTPStatus{503}),
		}
	case v1alpha1.HealthCheckTCP:
		h.TCP = &v1alpha1.TCPHealthCheck{Send: payload, Receive: payload}
	case v1alpha1.HealthCheckGRPC:
		h.GRPC = pick(w.Generator, nil, &v1alpha1.GRPCHealthCheck{Service: new(w.value())})
	}
	return pick(w.Generator, nil, h)
}

// requestSettings has odd settings of requests.
func (w HostileGenerator) requestSettings(s *v1alpha1.BackendTrafficPolicySpec) {
	if w.coin() {
		s.RateLimit = &v1alpha1.RateLimit{Local: &v1alpha1.LocalRateLimit{}}
		for range 1 + w.few(4) {
			s.RateLimit.Local.Rules = append(s.RateLimit.Local.Rules, w.rateLimitRule())
		}
		if w.coin() {
			s.RateLimit.Global = &v1alpha1.GlobalRateLimit{FailOpen: pick(w.Generator, nil, new(true))}
			for range 1 + w.few(4) {
				rule := w.rateLimitRule()
				rule.Shared = pick(w.Generator, nil, new(true))
				if rule.Cost != nil && w.coin() {
					rule.Cost.Response = rule.Cost.Request
				}
				s.RateLimit.Global.Rules = append(s.RateLimit.Global.Rules, rule)
			}
		}
	}
	s.FaultInjection = pick(w.Generator, nil, nil, &v1alpha1.FaultInjection{
		Delay: pick(w.Generator, nil, &v1alpha1.FaultDelay{
			FixedDelay: pick[gwv1.Duration](w.Generator, "0s", "1ms", "99999h"), Percentage: pick(w.Generator, nil, new(float32(0.0001))),
		}),
		Abort: pick(w.Generator, &v1alpha1.FaultAbort{HTTPStatus: new(200 + w.Int32N(400))},
			&v1alpha1.FaultAbort{GRPCStatus: new(w.Int32N(17))}),
	})
	compressors := pick(w.Generator, nil, []v1alpha1.Compression{{Type: "Gzip", MinContentLength: w.size()}},
		[]v1alpha1.Compression{{Type: "Zstd"}, {Type: "Brotli"}, {Type: "Gzip"}})
	if w.coin() {
		s.Compressor = compressors
	} else {
		s.Compression = compressors
	}
	if size := w.size(); size != nil {
		s.RequestBuffer = &v1alpha1.RequestBuffer{Limit: *size}
		s.BandwidthLimit = &v1alpha1.BandwidthLimit{
			Request: pick(w.Generator, nil, &v1alpha1.RequestBandwidth{Limit: v1alpha1.Bandwidth{Value: *size, Unit: "Hour"}}),
			Response: &v1alpha1.ResponseBandwidth{
				Limit:            v1alpha1.Bandwidth{Value: *size, Unit: pick(w.Generator, "Second", "Minute")},
				ResponseTrailers: pick(w.Generator, nil, &v1alpha1.BandwidthTrailers{Prefix: new(w.token())}),
			},
		}
	}
	s.AdmissionControl = pick(w.Generator, nil, &v1alpha1.AdmissionControl{}, &v1alpha1.AdmissionControl{
		SamplingWindow: w.timeSpan(), MinSuccessRate: new(1 + w.Int32N(100)), RejectionAggression: new(1 + w.Int32N(1000)),
		MinRequestRate: new(w.Int32N(10)), MaxRejectionPercent: new(w.Int32N(101)),
		SuccessCriteria: &v1alpha1.SuccessCriteria{
			HTTP: pick(w.Generator, nil, &v1alpha1.HTTPSuccess{StatusCodes: []v1alpha1.HTTPStatus{100, 200, 599}}),
			GRPC: pick(w.Generator, nil, &v1alpha1.GRPCSuccess{StatusCodes: []v1alpha1.GRPCCode{"Ok", "Unauthenticated"}}),
		},
	})
	for range w.few(3) {
		s.ResponseOverride = append(s.ResponseOverride, w.responseOverride())
	}
	s.HTTPUpgrade = pick(w.Generator, nil, []v1alpha1.HTTPUpgrade{{Type: "spdy/3.1"}, {Type: "WebSocket"}, {Type: "SPDY/3.1"}})
	s.Telemetry = pick(w.Generator, nil, w.routeTelemetry())
}

func (w HostileGenerator) responseOverride() v1alpha1.ResponseOverride {
	o := v1alpha1.ResponseOverride{Source: pick(w.Generator, nil, new("Local"), new("Backend"), new("All"))}
	first := 100 + w.Int32N(400)
	o.Match.StatusCodes = pick(w.Generator, []v1alpha1.StatusCodeMatch{{Value: new(first)}}, []v1alpha1.StatusCodeMatch{
		{Type: new("Range"), Range: &v1alpha1.StatusCodeRange{Start: first, End: first + 1 + w.Int32N(100)}},
	})
	for _, m := range w.stringMatches() {
		o.Match.ResponseHeaders = append(o.Match.ResponseHeaders, v1alpha1.ResponseHeaderMatch{Name: gwv1.HTTPHeaderName(w.token()), Value: m})
	}
	if w.coin() {
		o.Redirect = &v1alpha1.OverridingRedirect{
			Scheme: pick(w.Generator, nil, new("https")), Hostname: pick(w.Generator, nil, new(gwv1.PreciseHostname("a.example"))),
			Port: pick(w.Generator, nil, new(gwv1.PortNumber(8443))), StatusCode: pick(w.Generator, nil, new(int32(301))),
			Path: pick(w.Generator, nil, &gwv1.HTTPPathModifier{Type: gwv1.FullPathHTTPPathModifier, ReplaceFullPath: new(w.path())}),
		}
		return o
	}
	o.Response = &v1alpha1.OverridingResponse{
		ContentType: pick(w.Generator, nil, new(w.value())), StatusCode: pick(w.Generator, nil, new(200+w.Int32N(400))),
		Body: pick(w.Generator, nil, &v1alpha1.DirectResponseBody{Inline: new(w.value())}), Header: pick(w.Generator, nil, w.headerFilter()),
	}
	if o.Response.Header != nil {
		o.Response.Header.Remove = nil
	}
	return o
}

func (w HostileGenerator) routeTelemetry() *v1alpha1.BackendTelemetry {
	t := &v1alpha1.BackendTelemetry{
		Metrics: pick(w.Generator, nil, &v1alpha1.BackendMetrics{
			RouteStatName: new(pick(w.Generator, "%ROUTE_KIND%/%ROUTE_NAMESPACE%/%ROUTE_NAME%", w.value(), "%X%", "a.b:c")),
		}),
		Tracing: &v1alpha1.BackendTracing{
			SamplingFraction: pick(w.Generator, nil, &gwv1.Fraction{Numerator: w.Int32N(5), Denominator: new(1 + w.Int32N(4))}),
			Tags:             map[string]string{w.value(): w.value(), "x": "%REQ(a)%"},
			SpanName:         pick(w.Generator, nil, &v1alpha1.SpanName{Client: new(w.value()), Server: new("%REQ(:path)%")}),
			CustomTags:       map[string]v1alpha1.CustomTag{w.value(): {Literal: &v1alpha1.LiteralTag{Value: w.value()}}},
		},
	}
	if w.coin() {
		t.Tracing.CustomTags["h"] = v1alpha1.CustomTag{
			RequestHeader: &v1alpha1.RequestHeaderTag{Name: gwv1.HTTPHeaderName(w.token()), DefaultValue: new(w.value())},
		}
	}
	return t
}

func (w HostileGenerator) rateLimitRule() v1alpha1.RateLimitRule {
	rule := v1alpha1.RateLimitRule{
		Limit:      v1alpha1.RateLimitValue{Requests: 1 + w.Int64N(1<<40), Unit: pick(w.Generator, "Second", "Minute", "Hour", "Day")},
		ShadowMode: pick(w.Generator, nil, new(true)), XRateLimitHeaders: pick(w.Generator, nil, new("DraftVersion03")),
		Cost: pick(w.Generator, nil,
			&v1alpha1.RateLimitCost{Request: &v1alpha1.RateLimitCostValue{From: "Number", Number: new(w.Int64N(1000))}},
			&v1alpha1.RateLimitCost{Request: &v1alpha1.RateLimitCostValue{
				From: "Metadata", Metadata: &v1alpha1.RateLimitMetadata{Namespace: "envoy.lb", Key: "k"},
			}}),
	}
	for range w.few(3) {
		rule.ClientSelectors = append(rule.ClientSelectors, w.rateLimitSelector())
	}
	return rule
}

func (w HostileGenerator) rateLimitSelector() v1alpha1.RateLimitSelector {
	match := func(name string) v1alpha1.RateLimitMatch {
		return pick(w.Generator,
			v1alpha1.RateLimitMatch{Name: name, Type: new("Distinct")},
			v1alpha1.RateLimitMatch{Name: name, Value: new(w.value()), Invert: new(w.coin())},
			v1alpha1.RateLimitMatch{Name: name, Type: new("RegularExpression"), Value: new(w.expression())})
	}
	return v1alpha1.RateLimitSelector{
		Headers:     pick(w.Generator, nil, []v1alpha1.RateLimitMatch{match(pick(w.Generator, w.token(), ":path", ":authority"))}),
		QueryParams: pick(w.Generator, nil, []v1alpha1.RateLimitMatch{match(w.value())}),
		Methods: pick(w.Generator, nil, []v1alpha1.RateLimitMethod{
			{Value: gwv1.HTTPMethodGet},
			{Value: gwv1.HTTPMethodPut, Invert: new(true)},
		}),
		Path: pick(w.Generator, nil, &v1alpha1.RateLimitPath{Value: w.path()},
			&v1alpha1.RateLimitPath{Type: new(gwv1.PathMatchRegularExpression), Value: w.expression(), Invert: new(true)}),
		SourceCIDR: &v1alpha1.RateLimitSource{
			Type: pick(w.Generator, nil, new("Distinct")), Value: pick[v1alpha1.CIDR](w.Generator, "10.0.0.0/8", "::/0", "x"),
			Invert: new(w.coin()),
		},
	}
}
