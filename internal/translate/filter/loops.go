package filter

import (
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
)

// A backend may lead back to the Gateway, or to another that leads back. So each proxy that sends a request on makes a header longer by
// one, and the proxy that finds it too long answers 508. A client that sends the header itself gets its own request answered so, and no
// other. Nothing that tenants write may edit it: see [OwnHeaders].
const (
	// HopsHeader has a digit for each proxy of Gatewright that a request has passed. It is one value: Envoy matches each of several by itself.
	HopsHeader = "x-gatewright-hops"
	hop        = "1"
	// maxHops is more than any chain of Gateways has on purpose.
	maxHops = 10
	// hopsOfCopy is what a copy of a request has beside: each copy may be copied again, so that few hops are many requests.
	hopsOfCopy = 5

	loopDetected = 508
)

// OwnHeaders is an expression for the names of headers that nothing but proxies may edit.
const OwnHeaders = ownHeaderPrefix + ".*"

const ownHeaderPrefix = "x-gatewright-"

// Loops answers what has passed too many proxies. Every request passes it, which Envoy's filter for faults makes cheap: it looks for the
// header, and has done.
const Loops = "envoy.filters.http.fault"

var loops = Filter{
	Name: Loops,
	Listener: everywhere(&faultv3.HTTPFault{
		Headers: []*routev3.HeaderMatcher{{
			Name: HopsHeader,
			HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
				MatchPattern: &matcherv3.StringMatcher_Contains{Contains: strings.Repeat(hop, maxHops)},
			}},
		}},
		Abort: &faultv3.FaultAbort{
			ErrorType:  &faultv3.FaultAbort_HttpStatus{HttpStatus: loopDetected},
			Percentage: &typev3.FractionalPercent{Numerator: 100, Denominator: typev3.FractionalPercent_HUNDRED},
		},
		DisableDownstreamClusterStats: true,
	}),
}

// CountHop adds to a request what tells the next proxy of this one.
func CountHop() *corev3.HeaderValueOption { return hops(1) }

// CountCopy adds to a copy of a request what it has beside.
func CountCopy() *corev3.HeaderValueOption { return hops(hopsOfCopy) }

func hops(number int) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{
		Header:       &corev3.HeaderValue{Key: HopsHeader, Value: "%REQ(" + HopsHeader + ")%" + strings.Repeat(hop, number)},
		AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}
}
