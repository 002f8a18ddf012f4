package traffic

import (
	"cmp"
	"slices"
	"time"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/values"
	"github.com/gatewright/gatewright/internal/store"
)

// converter reads settings. It collects what cannot be served.
type converter struct {
	values.Reader
	objects *store.Objects
}

func newConverter(objects *store.Objects) *converter {
	return &converter{values.NewReader(objects), objects}
}

func (c *converter) requests(s *Spec) ir.RequestPolicy {
	p := ir.RequestPolicy{Retry: c.retry(s.Retry), Fault: c.fault(s.FaultInjection), Compressors: c.compressors(s.Compressor)}
	if s.RateLimit != nil && s.RateLimit.Local != nil {
		p.RateLimit = c.rateLimit(s.RateLimit.Local)
	}
	if s.RequestBuffer != nil {
		p.BufferLimit = c.Bytes("requestBuffer.limit", &s.RequestBuffer.Limit, 1, 1<<30)
	}
	p.Bandwidth, p.Admission, p.Upgrades = c.bandwidth(s.BandwidthLimit), c.admission(s.AdmissionControl), upgrades(s.HTTPUpgrade)
	p.Tracing, p.StatPrefix = c.telemetry(s.Telemetry)
	if s.Timeout != nil && s.Timeout.HTTP != nil {
		t := s.Timeout.HTTP
		p.RequestTimeout = c.Duration("timeout.http.requestTimeout", t.RequestTimeout)
		p.MaxStreamDuration = c.Duration("timeout.http.maxStreamDuration", t.MaxStreamDuration)
		p.StreamIdleTimeout = c.Duration("timeout.http.streamIdleTimeout", t.StreamIdleTimeout)
	}
	return p
}

const (
	defaultRetries    = 2
	defaultRetryCode  = 503
	retriableCodes    = "retriable-status-codes"
	shortestBackoff   = time.Millisecond
	largestRetryCount = 100
)

// defaultTriggers are what Envoy Gateway retries for.
var defaultTriggers = []string{"cancelled", "connect-failure", "refused-stream", retriableCodes, "unavailable"}

func (c *converter) retry(r *v1alpha1.BackendRetry) *ir.Retry {
	if r == nil {
		return nil
	}
	p := &ir.Retry{Attempts: defaultRetries, Triggers: defaultTriggers, PerPriority: values.Unsigned(r.NumAttemptsPerPriority)}
	if r.NumRetries != nil {
		p.Attempts = min(values.Unsigned(r.NumRetries), largestRetryCount)
	}
	if r.RetryOn != nil {
		if len(r.RetryOn.Triggers) > 0 {
			p.Triggers = nil
			for _, t := range r.RetryOn.Triggers {
				p.Triggers = append(p.Triggers, string(t))
			}
			if len(r.RetryOn.HTTPStatusCodes) > 0 {
				p.Triggers = append(p.Triggers, retriableCodes)
			}
			slices.Sort(p.Triggers)
			p.Triggers = slices.Compact(p.Triggers)
		}
		for _, code := range r.RetryOn.HTTPStatusCodes {
			p.Codes = append(p.Codes, uint32(max(0, code)))
		}
		slices.Sort(p.Codes)
	}
	if len(p.Codes) == 0 && (r.RetryOn == nil || len(r.RetryOn.Triggers) == 0) {
		p.Codes = []uint32{defaultRetryCode}
	}
	if r.PerRetry != nil {
		p.TryTimeout = c.Duration("retry.perRetry.timeout", r.PerRetry.Timeout)
		if b := r.PerRetry.BackOff; b != nil {
			p.Backoff = c.AtLeast("retry.perRetry.backOff.baseInterval", b.BaseInterval, shortestBackoff)
			p.MaxBackoff = c.AtLeast("retry.perRetry.backOff.maxInterval", b.MaxInterval, shortestBackoff)
			if p.MaxBackoff != nil && *p.MaxBackoff < *cmp.Or(p.Backoff, new(defaultBackoff)) {
				c.Fail("retry.perRetry.backOff.maxInterval %q is shorter than baseInterval; use a longer one", *b.MaxInterval)
				p.MaxBackoff = nil
			}
		}
	}
	return p
}

// defaultBackoff is Envoy's.
const defaultBackoff = 25 * time.Millisecond
