package pipeline

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/memo"
)

// metrics counts what the lanes do. A change that costs more than it touches shows in computed.
type metrics struct {
	rounds           *prometheus.HistogramVec
	computed         *prometheus.CounterVec
	changed          *prometheus.CounterVec
	validationErrors *prometheus.CounterVec
	panics           *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	m := &metrics{
		rounds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "gatewright_pipeline_round_seconds",
			Help:    "Time from taking changes to having handed out what follows from them, by lane.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
		}, []string{"lane"}),
		computed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gatewright_pipeline_computed_total",
			Help: "Values computed, by stage.",
		}, []string{"stage"}),
		changed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gatewright_pipeline_changed_total",
			Help: "Values that came out different, by stage.",
		}, []string{"stage"}),
		validationErrors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gatewright_pipeline_validation_errors_total",
			Help: "Parts of resources that were left out because they violate Envoy's validation rules, by type. Each is a bug.",
		}, []string{"type"}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gatewright_pipeline_panics_total",
			Help: "Panics that were contained to the object that caused them, by stage. Each is a bug.",
		}, []string{"stage"}),
	}
	registerer.MustRegister(m.rounds, m.computed, m.changed, m.validationErrors, m.panics)
	return m
}

func (m *metrics) observe(lane string, report memo.Report, took time.Duration) {
	m.rounds.WithLabelValues(lane).Observe(took.Seconds())
	for stage, n := range report.Computed {
		m.computed.WithLabelValues(stage).Add(float64(n))
	}
	for stage, n := range report.Changed {
		m.changed.WithLabelValues(stage).Add(float64(n))
	}
}
