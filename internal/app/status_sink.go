package app

import (
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/status"
	"github.com/gatewright/gatewright/internal/store"
)

// statusSink lets the pipeline, which knows kinds by the store's names, speak to the writer, which knows no store.
type statusSink struct{ *status.Writer }

var _ pipeline.Statuses = statusSink{}

// SetRoute says what became of a route.
func (s statusSink) SetRoute(kind store.Kind, key string, o outcome.Route) {
	s.Writer.SetRoute(status.Kind(kind), key, o)
}

// SetPolicy says what became of a policy.
func (s statusSink) SetPolicy(kind store.Kind, key string, o outcome.Policy) {
	s.Writer.SetPolicy(status.Kind(kind), key, o)
}

// Forget drops what was to be said of an object.
func (s statusSink) Forget(kind store.Kind, key string) { s.Writer.Forget(status.Kind(kind), key) }
