package cluster

import (
	"encoding/hex"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	filesinkv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/health_check/event_sinks/file/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// healthChecks ask endpoints, each at its own port: Envoy takes another one from the load assignment only, which clusters share.
func healthChecks(b ir.Backend, hostname string, a *ir.ActiveCheck) []*corev3.HealthCheck {
	if a == nil || a.GRPC != nil && !b.Protocol.IsHTTP2() {
		// Envoy takes no cluster with a check by gRPC that does not speak HTTP/2.
		return nil
	}
	check := &corev3.HealthCheck{
		Timeout: durationpb.New(a.Timeout), Interval: durationpb.New(a.Interval),
		// Without it a cluster that has never had a connection is asked once a minute: a backend that comes back would be noticed late.
		NoTrafficInterval:  durationpb.New(a.Interval),
		UnhealthyThreshold: wrapperspb.UInt32(a.Unhealthy), HealthyThreshold: wrapperspb.UInt32(a.Healthy),
	}
	if a.Jitter > 0 {
		check.InitialJitter = durationpb.New(a.Jitter)
	}
	switch {
	case a.HTTP != nil:
		check.HealthChecker = &corev3.HealthCheck_HttpHealthCheck_{HttpHealthCheck: httpCheck(b, hostname, a.HTTP)}
	case a.TCP != nil:
		tcp := &corev3.HealthCheck_TcpHealthCheck{Send: payload(a.TCP.Send)}
		if receive := payload(a.TCP.Receive); receive != nil {
			tcp.Receive = []*corev3.HealthCheck_Payload{receive}
		}
		check.HealthChecker = &corev3.HealthCheck_TcpHealthCheck_{TcpHealthCheck: tcp}
	default:
		check.HealthChecker = &corev3.HealthCheck_GrpcHealthCheck_{GrpcHealthCheck: &corev3.HealthCheck_GrpcHealthCheck{
			ServiceName: a.GRPC.Service, Authority: hostOf(b, hostname),
		}}
	}
	if a.Log != "" {
		check.EventLogger = []*corev3.TypedExtensionConfig{{
			Name:        "envoy.health_check.event_sink.file",
			TypedConfig: wire.Any(&filesinkv3.HealthCheckEventFileSink{EventLogPath: a.Log}),
		}}
		check.AlwaysLogHealthCheckFailures, check.AlwaysLogHealthCheckSuccess = a.LogFailures, a.LogSuccesses
	}
	return []*corev3.HealthCheck{check}
}

func httpCheck(b ir.Backend, hostname string, h *ir.HTTPCheck) *corev3.HealthCheck_HttpHealthCheck {
	check := &corev3.HealthCheck_HttpHealthCheck{
		Host: h.Host, Path: h.Path, Method: corev3.RequestMethod(corev3.RequestMethod_value[h.Method]), Send: payload(h.Body),
		ExpectedStatuses: ranges(h.Expected), RetriableStatuses: ranges(h.Retriable),
	}
	if check.GetHost() == "" {
		check.Host = hostOf(b, hostname)
	}
	if b.Protocol.IsHTTP2() {
		check.CodecClientType = typev3.CodecClientType_HTTP2
	}
	if answer := payload(h.Answer); answer != nil {
		check.Receive = []*corev3.HealthCheck_Payload{answer}
	}
	return check
}

// hostOf is what a backend is called. Envoy would take the name of the cluster, which is no host.
func hostOf(b ir.Backend, hostname string) string {
	if hostname != "" {
		return hostname
	}
	return b.Object.Name + "." + b.Object.Namespace
}

func ranges(codes []uint32) []*typev3.Int64Range {
	var list []*typev3.Int64Range
	for _, code := range codes {
		list = append(list, &typev3.Int64Range{Start: int64(code), End: int64(code) + 1})
	}
	return list
}

func payload(bytes []byte) *corev3.HealthCheck_Payload {
	if len(bytes) == 0 {
		return nil
	}
	return &corev3.HealthCheck_Payload{Payload: &corev3.HealthCheck_Payload_Text{Text: hex.EncodeToString(bytes)}}
}

// outlierDetection replaces the detection of endpoints that cannot be reached.
func outlierDetection(p *ir.PassiveCheck) *clusterv3.OutlierDetection {
	always := func(yes bool) *wrapperspb.UInt32Value {
		if yes {
			return wrapperspb.UInt32(100)
		}
		return wrapperspb.UInt32(0)
	}
	d := &clusterv3.OutlierDetection{
		SplitExternalLocalOriginErrors: p.Split,
		Interval:                       durationpb.New(p.Interval), BaseEjectionTime: durationpb.New(p.EjectionTime),
		MaxEjectionTime:                    durationpb.New(max(10*p.EjectionTime, p.EjectionTime)),
		MaxEjectionPercent:                 wrapperspb.UInt32(p.MaxPercent),
		Consecutive_5Xx:                    wrapperspb.UInt32(p.Error),
		EnforcingConsecutive_5Xx:           always(p.Error > 0),
		ConsecutiveGatewayFailure:          wrapperspb.UInt32(p.Gateway),
		EnforcingConsecutiveGatewayFailure: always(p.Gateway > 0),
		EnforcingSuccessRate:               always(false),
		EnforcingLocalOriginSuccessRate:    always(false),
		AlwaysEjectOneHost:                 wrapperspb.Bool(p.AlwaysOne),
	}
	if p.Split {
		d.ConsecutiveLocalOriginFailure = wrapperspb.UInt32(p.LocalFailures)
		d.EnforcingConsecutiveLocalOriginFailure = always(p.LocalFailures > 0)
	}
	if p.FailurePercent != nil {
		d.FailurePercentageThreshold = wrapperspb.UInt32(*p.FailurePercent)
		d.EnforcingFailurePercentage, d.EnforcingFailurePercentageLocalOrigin = always(true), always(true)
	}
	return d
}
