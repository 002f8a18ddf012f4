package convergence

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	live prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer, oldest func() float64) *metrics {
	factory := promauto.With(registerer)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gatewright_unacknowledged_seconds",
		Help: "Age of the oldest change that a ready proxy has not acknowledged.",
	}, oldest)
	return &metrics{live: factory.NewHistogram(prometheus.HistogramOpts{
		Name:    "gatewright_acknowledged_seconds",
		Help:    "Time from a change of an object to the acknowledgement of every ready proxy of its Gateway.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
	})}
}
