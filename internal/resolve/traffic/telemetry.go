package traffic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/command"
	"github.com/gatewright/gatewright/internal/resolve/fraction"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/values"
)

func (c *converter) telemetry(t *v1alpha1.BackendTelemetry) (tracing *ir.RouteTelemetry, prefix string) {
	if t == nil {
		return nil, ""
	}
	if t.Metrics != nil {
		const field = "telemetry.metrics.routeStatName"
		prefix = values.Or(t.Metrics.RouteStatName)
		if !c.Accept(header.CheckValue(field, prefix)) || !c.Accept(checkStatName(field, prefix)) {
			prefix = ""
		}
	}
	if t.Tracing == nil {
		return nil, prefix
	}
	const field = "telemetry.tracing."
	tracing = &ir.RouteTelemetry{
		Sampling:        c.share(field+"samplingFraction", t.Tracing.SamplingFraction),
		ClientSampling:  c.share(field+"clientSamplingFraction", t.Tracing.ClientSamplingFraction),
		OverallSampling: c.share(field+"overallSamplingFraction", t.Tracing.OverallSamplingFraction),
		Attributes:      c.attributes(field, t.Tracing),
	}
	if n := t.Tracing.SpanName; n != nil {
		tracing.ServerSpan = c.format(field+"spanName.server", values.Or(n.Server))
		tracing.ClientSpan = c.format(field+"spanName.client", values.Or(n.Client))
	}
	return tracing, prefix
}

// statVariables are what a name of statistics may have.
var statVariables = strings.NewReplacer(ir.StatRouteName, "", ir.StatRouteNamespace, "", ir.StatRouteKind, "")

func checkStatName(field, name string) string {
	if strings.Contains(statVariables.Replace(name), "%") {
		return fmt.Sprintf("%s has another variable than %s, %s and %s; remove it",
			field, ir.StatRouteName, ir.StatRouteNamespace, ir.StatRouteKind)
	}
	return ""
}

func (c *converter) share(field string, f *gwv1.Fraction) *ir.Fraction {
	if f == nil {
		return nil
	}
	parsed, message := fraction.Parse(field, f, ir.Fraction{})
	if !c.Accept(message) {
		return nil
	}
	return &parsed
}

func (c *converter) format(field, text string) string {
	if !c.Accept(header.CheckValue(field, text)) {
		return ""
	}
	format, message := command.Format(field, text)
	c.Accept(message)
	return format
}

func (c *converter) attributes(field string, t *v1alpha1.BackendTracing) []ir.RouteAttribute {
	var all []ir.RouteAttribute
	for _, name := range slices.Sorted(maps.Keys(t.CustomTags)) {
		tag := t.CustomTags[name]
		a := ir.RouteAttribute{Name: name}
		switch {
		case tag.Literal != nil:
			a.Literal = tag.Literal.Value
		case tag.RequestHeader != nil && c.Accept(header.CheckName(field+"customTags", string(tag.RequestHeader.Name))):
			a.Header, a.Default = strings.ToLower(string(tag.RequestHeader.Name)), values.Or(tag.RequestHeader.DefaultValue)
		}
		if name == "" || a.Literal == "" && a.Header == "" {
			c.Fail("%scustomTags: %q has no value; set literal or requestHeader", field, name)
			continue
		}
		if c.Accept(header.CheckValue(field+"customTags", name+a.Literal+a.Default)) {
			all = append(all, a)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Tags)) {
		text := t.Tags[name]
		if _, twice := t.CustomTags[name]; name == "" || text == "" || twice {
			c.Fail("%stags: %q has no value, or is in customTags too; remove it", field, name)
			continue
		}
		if !c.Accept(header.CheckValue(field+"tags", name)) {
			continue
		}
		if format := c.format(field+"tags["+name+"]", text); format != "" {
			all = append(all, ir.RouteAttribute{Name: name, Format: format})
		}
	}
	slices.SortFunc(all, func(a, b ir.RouteAttribute) int { return strings.Compare(a.Name, b.Name) })
	return all
}
