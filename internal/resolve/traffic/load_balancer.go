package traffic

import (
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/values"
)

func (c *converter) loadBalancer(b *v1alpha1.LoadBalancer) *ir.LoadBalancer {
	if b == nil {
		return nil
	}
	p := &ir.LoadBalancer{Type: string(b.Type)}
	switch {
	case b.Type == v1alpha1.LoadBalancerConsistentHash && b.ConsistentHash != nil:
		p.Hash = c.hash(b.ConsistentHash)
	case b.Type == v1alpha1.LoadBalancerBackendUtilization:
		p.Utilization = c.utilization(b.BackendUtilization)
	}
	if b.SlowStart != nil {
		p.SlowStart = values.Or(c.AtLeast("loadBalancer.slowStart.window", &b.SlowStart.Window, time.Millisecond))
	}
	if b.EndpointOverride != nil {
		for _, source := range b.EndpointOverride.ExtractFrom {
			if c.Accept(header.CheckName("loadBalancer.endpointOverride.extractFrom: header", string(source.Header))) {
				p.OverrideHeaders = append(p.OverrideHeaders, lower(source.Header))
			}
		}
	}
	return p
}

func (c *converter) hash(h *v1alpha1.ConsistentHash) *ir.HashPolicy {
	p := &ir.HashPolicy{SourceIP: h.Type == v1alpha1.HashSourceIP}
	headers := h.Headers
	if h.Header != nil {
		headers = append([]v1alpha1.HashHeader{*h.Header}, headers...)
	}
	for _, one := range headers {
		if c.Accept(header.CheckName("loadBalancer.consistentHash.headers: header", string(one.Name))) {
			p.Headers = append(p.Headers, lower(one.Name))
		}
	}
	for _, one := range h.QueryParams {
		if one.Name != "" && c.queryName("loadBalancer.consistentHash.queryParams", one.Name) {
			p.Query = append(p.Query, one.Name)
		}
	}
	if h.Cookie != nil {
		p.Cookie = c.cookie(h.Cookie)
	}
	if size := values.Or(h.TableSize); size != 0 {
		const largest = 5000011
		if size < 2 || size > largest || !big.NewInt(size).ProbablyPrime(0) {
			c.Fail("loadBalancer.consistentHash.tableSize %d is not a prime number up to %d; use one, such as 65537", size, largest)
		} else {
			p.TableSize = uint64(size)
		}
	}
	return p
}

func (c *converter) cookie(h *v1alpha1.HashCookie) *ir.HashCookie {
	const field = "loadBalancer.consistentHash.cookie."
	p := &ir.HashCookie{Name: h.Name, TTL: c.Duration(field+"ttl", h.TTL)}
	if !c.Accept(header.CheckName(field+"name", h.Name)) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(h.Attributes)) {
		text := h.Attributes[name]
		nameOK := c.Accept(header.CheckName(field+"attributes", name))
		if nameOK && c.Accept(header.CheckValue(field+"attributes."+name, text)) {
			p.Attributes = append(p.Attributes, ir.Header{Name: name, Value: text})
		}
	}
	return p
}

func (c *converter) utilization(u *v1alpha1.BackendUtilization) *ir.Utilization {
	if u == nil {
		return &ir.Utilization{}
	}
	const field = "loadBalancer.backendUtilization."
	p := &ir.Utilization{
		Blackout:   c.Duration(field+"blackoutPeriod", u.BlackoutPeriod),
		Expiration: c.Duration(field+"weightExpirationPeriod", u.WeightExpirationPeriod),
		Update:     c.Duration(field+"weightUpdatePeriod", u.WeightUpdatePeriod), Metrics: u.MetricNamesForComputingUtilization,
		KeepReports: values.IsTrue(u.KeepResponseHeaders),
	}
	if u.ErrorUtilizationPenaltyPercent != nil {
		p.Penalty = new(float32(values.Unsigned(u.ErrorUtilizationPenaltyPercent)) / percent)
	}
	if o := u.OutOfBand; o != nil {
		const usual = 10 * time.Second
		p.OutOfBand = &ir.OutOfBand{
			Period: orDuration(c.AtLeast(field+"outOfBand.reportingPeriod", o.ReportingPeriod, time.Second), usual),
			Port:   values.Unsigned(o.Port), Authority: values.Or(o.Authority),
		}
		if !c.Accept(header.CheckValue(field+"outOfBand.authority", p.OutOfBand.Authority)) {
			p.OutOfBand.Authority = ""
		}
	}
	return p
}
