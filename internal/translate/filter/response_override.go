package filter

import (
	"fmt"
	"strings"

	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	customv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/custom_response/v3"
	localresponsev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/custom_response/local_response_policy/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// ResponseOverride replaces responses, and does nothing for a route without a policy for it. Envoy's own filter asks the settings of the
// virtual host after those of a route, and here a setting replaces another one as a whole.
const ResponseOverride = "gatewright.response_override"

var responseOverride = byPolicy(Filter{Name: ResponseOverride, OnDemand: true, Listener: everywhere(&compositev3.Composite{})},
	func(p *ir.RequestPolicy) (proto.Message, bool) {
		if len(p.Overrides) == 0 {
			return nil, false
		}
		return runs("envoy.filters.http.custom_response", customResponse(p.Overrides)), true
	})

func customResponse(overrides []ir.ResponseOverride) *customv3.CustomResponse {
	var list []*xdsmatcherv3.Matcher_MatcherList_FieldMatcher
	for i := range overrides {
		list = append(list, &xdsmatcherv3.Matcher_MatcherList_FieldMatcher{
			Predicate: allOf(overridePredicates(&overrides[i])), OnMatch: wire.Action("response", localResponse(&overrides[i])),
		})
	}
	return &customv3.CustomResponse{CustomResponseMatcher: &xdsmatcherv3.Matcher{
		MatcherType: &xdsmatcherv3.Matcher_MatcherList_{MatcherList: &xdsmatcherv3.Matcher_MatcherList{Matchers: list}},
	}}
}

func overridePredicates(o *ir.ResponseOverride) []*predicate {
	var predicates []*predicate
	if len(o.Codes) > 0 {
		match := ir.StringMatch{Kind: ir.Regex, Value: codesExpression(o.Codes)}
		predicates = append(predicates, single(&matcherv3.HttpResponseStatusCodeMatchInput{}, text(match)))
	}
	for _, h := range o.Headers {
		predicates = append(predicates, single(&matcherv3.HttpResponseHeaderMatchInput{HeaderName: h.Name}, text(h.StringMatch)))
	}
	if o.Local != nil {
		match := ir.StringMatch{Value: fmt.Sprint(*o.Local)}
		predicates = append(predicates, single(&matcherv3.HttpResponseLocalReplyMatchInput{}, text(match)))
	}
	return predicates
}

// codesExpression is a regular expression for statuses.
func codesExpression(ranges []ir.CodeRange) string {
	const ten, hundred = 10, 100
	var parts []string
	for _, r := range ranges {
		for code := r.First; code <= r.Last; {
			switch {
			case code%hundred == 0 && code+hundred-1 <= r.Last:
				parts = append(parts, fmt.Sprintf("%d[0-9][0-9]", code/hundred))
				code += hundred
			case code%ten == 0 && code+ten-1 <= r.Last:
				parts = append(parts, fmt.Sprintf("%d[0-9]", code/ten))
				code += ten
			default:
				parts = append(parts, fmt.Sprint(code))
				code++
			}
		}
	}
	return strings.Join(parts, "|")
}

func localResponse(o *ir.ResponseOverride) *localresponsev3.LocalResponsePolicy {
	policy := &localresponsev3.LocalResponsePolicy{}
	if o.StatusCode > 0 {
		policy.StatusCode = wrapperspb.UInt32(o.StatusCode)
	}
	if o.Body != "" {
		policy.BodyFormat = &corev3.SubstitutionFormatString{
			Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
				Specifier: &corev3.DataSource_InlineString{InlineString: o.Body},
			}},
		}
	}
	if o.ContentType != "" {
		policy.ResponseHeadersToAdd = append(policy.ResponseHeadersToAdd,
			formatted(ir.Header{Name: "content-type", Value: wire.Literal(o.ContentType)}, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD))
	}
	if o.Edit == nil {
		return policy
	}
	for _, h := range o.Edit.Set {
		policy.ResponseHeadersToAdd = append(policy.ResponseHeadersToAdd,
			formatted(h, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD))
	}
	for _, h := range o.Edit.Add {
		policy.ResponseHeadersToAdd = append(policy.ResponseHeadersToAdd, formatted(h, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD))
	}
	return policy
}

func formatted(h ir.Header, action corev3.HeaderValueOption_HeaderAppendAction) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: h.Name, Value: h.Value}, AppendAction: action}
}
