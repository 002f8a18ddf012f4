package status

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/gatewright/gatewright/internal/store"
)

const (
	resultWritten  = "written"
	resultConflict = "conflict"
	resultFailed   = "failed"
)

type metrics struct {
	writes *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer, depth func() float64) metrics {
	factory := promauto.With(registerer)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gatewright_status_queue_depth",
		Help: "Objects whose status waits to be compared and written; 0 on a replica that does not lead.",
	}, depth)
	return metrics{writes: factory.NewCounterVec(prometheus.CounterOpts{
		Name: "gatewright_status_writes_total",
		Help: "Status writes sent to the API server, by kind and result: written, conflict (tried again) or failed (tried again).",
	}, []string{"kind", "result"})}
}

func (m metrics) count(kind store.Kind, result string) {
	m.writes.WithLabelValues(string(kind), result).Inc()
}
