package xds

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"google.golang.org/protobuf/proto"
)

// metrics has no label for Gateways or proxies: there are too many.
type metrics struct {
	connected prometheus.Gauge
	responses *prometheus.CounterVec
	resources *prometheus.CounterVec
	bytes     *prometheus.CounterVec
	nacks     *prometheus.CounterVec
	// authRejections is by gRPC code.
	authRejections *prometheus.CounterVec
	panics         prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	byType := func(name, help string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: "gatewright_xds_" + name, Help: help}, []string{"type"})
	}
	return &metrics{
		connected: factory.NewGauge(prometheus.GaugeOpts{Name: "gatewright_xds_connected_proxies", Help: "Proxies that are connected."}),
		responses: byType("responses_total", "Responses sent to proxies."),
		resources: byType("resources_sent_total", "Resources sent to proxies, removals not counted."),
		bytes:     byType("bytes_sent_total", "Bytes of the responses sent to proxies, before encryption."),
		nacks:     byType("nacks_total", "Responses that a proxy rejected."),
		authRejections: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "gatewright_xds_auth_rejections_total", Help: "Calls that were rejected because they proved no identity.",
		}, []string{"code"}),
		panics: factory.NewCounter(prometheus.CounterOpts{
			Name: "gatewright_xds_panics_total", Help: "Panics while a stream was served, which ended that stream. Each is a bug.",
		}),
	}
}

func (m *metrics) sent(t Type, message *discoveryv3.DeltaDiscoveryResponse) {
	m.responses.WithLabelValues(t.String()).Inc()
	m.resources.WithLabelValues(t.String()).Add(float64(len(message.GetResources())))
	m.bytes.WithLabelValues(t.String()).Add(float64(proto.Size(message)))
}
