package traffic

import (
	"time"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/values"
)

// Defaults of health checks, as in Envoy Gateway.
const (
	checkTimeout        = time.Second
	checkInterval       = 3 * time.Second
	unhealthyThreshold  = 3
	healthyThreshold    = 1
	errorsInARow        = 5
	ejectionTime        = 30 * time.Second
	maxEjectionPercent  = 10
	shortestCheckPeriod = 100 * time.Millisecond
	longestFirstCheck   = 5 * time.Second
	standardOutput      = "/dev/stdout"
)

func (c *converter) active(h *v1alpha1.ActiveHealthCheck) *ir.ActiveCheck {
	if h == nil {
		return nil
	}
	p := &ir.ActiveCheck{
		Timeout:   orDuration(c.AtLeast("healthCheck.active.timeout", h.Timeout, time.Millisecond), checkTimeout),
		Interval:  orDuration(c.AtLeast("healthCheck.active.interval", h.Interval, shortestCheckPeriod), checkInterval),
		Jitter:    values.Or(c.Duration("healthCheck.active.initialJitter", h.InitialJitter)),
		Unhealthy: orNumber(h.UnhealthyThreshold, unhealthyThreshold), Healthy: orNumber(h.HealthyThreshold, healthyThreshold),
	}
	if first := p.Timeout + p.Jitter; first > longestFirstCheck {
		// Envoy acknowledges no cluster, of anyone, while a new one waits for its first checks.
		c.Fail("healthCheck.active: timeout and initialJitter are %s together, and proxies take no other change until the first check has "+
			"ended; use at most %s", first, longestFirstCheck)
		p.Timeout, p.Jitter = checkTimeout, 0
	}
	if h.Overrides != nil && h.Overrides.Port != nil {
		c.Fail("healthCheck.active.overrides.port is not served by this version; remove it, or serve health checks at the port of the endpoint")
	}
	switch {
	case h.HTTP != nil:
		p.HTTP = c.httpCheck(h.HTTP)
	case h.TCP != nil:
		p.TCP = &ir.TCPCheck{Send: payload(h.TCP.Send), Receive: payload(h.TCP.Receive)}
	default:
		p.GRPC = &ir.GRPCCheck{}
		if h.GRPC != nil {
			p.GRPC.Service = values.Or(h.GRPC.Service)
			if !c.Accept(header.CheckValue("healthCheck.active.grpc.service", p.GRPC.Service)) {
				return nil
			}
		}
	}
	c.checkLog(h.HealthCheckLog, p)
	if p.HTTP == nil && p.TCP == nil && p.GRPC == nil {
		return nil
	}
	return p
}

// checkLog reads what is logged, and where.
func (c *converter) checkLog(log *v1alpha1.HealthCheckLog, p *ir.ActiveCheck) {
	if log != nil {
		p.Log, p.LogFailures, p.LogSuccesses = standardOutput, len(log.Matches) == 0, len(log.Matches) == 0
		if len(log.Sinks) > 0 {
			p.Log = log.Sinks[0].File.Path
		}
		for _, match := range log.Matches {
			p.LogFailures = p.LogFailures || match == v1alpha1.HealthCheckLogFailure
			p.LogSuccesses = p.LogSuccesses || match == v1alpha1.HealthCheckLogSuccess
		}
		if p.Log != standardOutput && p.Log != "/dev/stderr" {
			c.Fail("healthCheck.active.healthCheckLog: path %q is not /dev/stdout or /dev/stderr; use one of them", p.Log)
			p.Log = standardOutput
		}
	}
}

func (c *converter) httpCheck(h *v1alpha1.HTTPHealthCheck) *ir.HTTPCheck {
	p := &ir.HTTPCheck{
		Host: values.Or(h.Hostname), Path: h.Path, Method: values.Or(h.Method), Expected: statuses(h.ExpectedStatuses),
		Retriable: statuses(h.RetriableStatuses), Body: payload(h.RequestBody), Answer: payload(h.ExpectedResponse),
	}
	hostOK := c.Accept(header.CheckValue("healthCheck.active.http.hostname", p.Host))
	pathOK := c.Accept(header.CheckValue("healthCheck.active.http.path", p.Path))
	if !hostOK || !pathOK || p.Path == "" {
		return nil
	}
	return p
}

func statuses(list []v1alpha1.HTTPStatus) []uint32 {
	var codes []uint32
	for _, s := range list {
		codes = append(codes, uint32(min(max(s, 100), 599)))
	}
	return codes
}

func payload(p *v1alpha1.HealthCheckPayload) []byte {
	switch {
	case p == nil:
		return nil
	case p.Text != nil:
		return []byte(*p.Text)
	default:
		return p.Binary
	}
}

func (c *converter) passive(h *v1alpha1.PassiveHealthCheck) *ir.PassiveCheck {
	if h == nil {
		return nil
	}
	p := &ir.PassiveCheck{
		Split: values.IsTrue(h.SplitExternalLocalOriginErrors), AlwaysOne: values.IsTrue(h.AlwaysEjectOneEndpoint),
		Interval:      orDuration(c.AtLeast("healthCheck.passive.interval", h.Interval, time.Millisecond), checkInterval),
		EjectionTime:  orDuration(c.AtLeast("healthCheck.passive.baseEjectionTime", h.BaseEjectionTime, time.Millisecond), ejectionTime),
		LocalFailures: orNumber(h.ConsecutiveLocalOriginFailures, errorsInARow), Gateway: values.Unsigned(h.ConsecutiveGatewayErrors),
		Error: orNumber(h.Consecutive5xxErrors, errorsInARow), MaxPercent: min(orNumber(h.MaxEjectionPercent, maxEjectionPercent), percent),
	}
	if h.FailurePercentageThreshold != nil {
		p.FailurePercent = new(min(values.Unsigned(h.FailurePercentageThreshold), percent))
	}
	return p
}

func orDuration(d *time.Duration, usual time.Duration) time.Duration {
	if d == nil {
		return usual
	}
	return *d
}

func orNumber(n *int32, usual uint32) uint32 {
	if n == nil {
		return usual
	}
	return values.Unsigned(n)
}
