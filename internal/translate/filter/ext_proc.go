package filter

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatewright/gatewright/internal/ir"
)

const extProcName = "envoy.filters.http.ext_proc"

var bodyModes = map[ir.BodyMode]extprocv3.ProcessingMode_BodySendMode{
	ir.BodyNone:       extprocv3.ProcessingMode_NONE,
	ir.BodyStreamed:   extprocv3.ProcessingMode_STREAMED,
	ir.BodyBuffered:   extprocv3.ProcessingMode_BUFFERED,
	ir.BodyPartial:    extprocv3.ProcessingMode_BUFFERED_PARTIAL,
	ir.BodyFullDuplex: extprocv3.ProcessingMode_FULL_DUPLEX_STREAMED,
}

// extProc sends requests to a server. What the server changes does not choose another route: filters for security have passed already, as
// the first route asks.
func extProc(e *ir.ExtProc) *extprocv3.ExternalProcessor {
	config := &extprocv3.ExternalProcessor{
		GrpcService: &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
			EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: e.Backend.String()},
		}},
		// A server whose answers do not count must not fail requests either.
		FailureModeAllow: e.FailOpen || e.Shadow, ObservabilityMode: e.Shadow, AllowModeOverride: e.ModeOverride,
		RouteCacheAction: extprocv3.ExternalProcessor_RETAIN,
		ProcessingMode:   processingMode(e),
		MutationRules:    &mutationv3.HeaderMutationRules{DisallowExpression: &matcherv3.RegexMatcher{Regex: "(?i)" + OwnHeaders}},
	}
	if e.Request != nil {
		config.RequestAttributes = e.Request.Attributes
	}
	if e.Response != nil {
		config.ResponseAttributes = e.Response.Attributes
	}
	if e.Timeout != nil {
		config.MessageTimeout = durationpb.New(*e.Timeout)
	}
	if e.StatusOnError != 0 {
		config.StatusOnError = &typev3.HttpStatus{Code: typev3.StatusCode(e.StatusOnError)} //nolint:gosec // from 400 to 511
	}
	if len(e.Accessible) > 0 || len(e.Writable) > 0 {
		config.MetadataOptions = &extprocv3.MetadataOptions{
			ForwardingNamespaces: &extprocv3.MetadataOptions_MetadataNamespaces{Untyped: e.Accessible},
			ReceivingNamespaces:  &extprocv3.MetadataOptions_MetadataNamespaces{Untyped: e.Writable},
		}
	}
	return config
}

// extProcBeforeRouting may change which route a request takes: whenever the server has changed headers, the route is chosen again. It
// cannot change the host, which has chosen the listener.
func extProcBeforeRouting(e *ir.ExtProc) *extprocv3.ExternalProcessor {
	config := extProc(e)
	if e.Shadow {
		return config
	}
	config.RouteCacheAction = extprocv3.ExternalProcessor_CLEAR
	if e.ModeOverride {
		config.AllowedOverrideModes = overridesBeforeRouting
	}
	return config
}

// overridesBeforeRouting are the modes that a server may choose for a request. The bodies of requests come as a whole or not at all: with
// other modes Envoy may choose a route before the server has seen the body.
var overridesBeforeRouting = func() []*extprocv3.ProcessingMode {
	var modes []*extprocv3.ProcessingMode
	for _, request := range []ir.BodyMode{ir.BodyNone, ir.BodyBuffered} {
		for _, response := range []ir.BodyMode{ir.BodyNone, ir.BodyStreamed, ir.BodyBuffered, ir.BodyPartial} {
			for _, headers := range []extprocv3.ProcessingMode_HeaderSendMode{extprocv3.ProcessingMode_SEND, extprocv3.ProcessingMode_SKIP} {
				modes = append(modes, &extprocv3.ProcessingMode{
					RequestBodyMode: bodyModes[request], ResponseHeaderMode: headers, ResponseBodyMode: bodyModes[response],
					RequestTrailerMode: extprocv3.ProcessingMode_SKIP, ResponseTrailerMode: extprocv3.ProcessingMode_SKIP,
				})
			}
		}
	}
	return modes
}()

func processingMode(e *ir.ExtProc) *extprocv3.ProcessingMode {
	mode := &extprocv3.ProcessingMode{
		RequestHeaderMode: extprocv3.ProcessingMode_SKIP, ResponseHeaderMode: extprocv3.ProcessingMode_SKIP,
		RequestTrailerMode: extprocv3.ProcessingMode_SKIP, ResponseTrailerMode: extprocv3.ProcessingMode_SKIP,
	}
	if e.Request != nil {
		mode.RequestHeaderMode, mode.RequestBodyMode = extprocv3.ProcessingMode_SEND, bodyModes[e.Request.Body]
		if e.Request.Body == ir.BodyFullDuplex {
			mode.RequestTrailerMode = extprocv3.ProcessingMode_SEND
		}
	}
	if e.Response != nil {
		mode.ResponseHeaderMode, mode.ResponseBodyMode = extprocv3.ProcessingMode_SEND, bodyModes[e.Response.Body]
		if e.Response.Body == ir.BodyFullDuplex {
			mode.ResponseTrailerMode = extprocv3.ProcessingMode_SEND
		}
	}
	return mode
}
