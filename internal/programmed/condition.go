package programmed

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/convergence"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
)

// The reasons of a route's condition, besides [outcome.Refused]; the first two are also those of Gateways and listeners.
const (
	reasonProgrammed = string(gwv1.GatewayReasonProgrammed)
	reasonPending    = string(gwv1.GatewayReasonPending)
)

// programmed is the message of an object that all ready proxies have acknowledged, and behind that of a late one, by delivery.
var (
	programmed = map[ir.Delivery]string{
		ir.XDS: "every ready proxy has acknowledged this generation",
		ir.Files: "every ready proxy has read the files of this generation; files are not acknowledged, " +
			"so what a proxy rejects of them is not known here",
	}
	behind = map[ir.Delivery]string{
		ir.XDS:   "acknowledged this generation: %s; see their logs and whether they reach Gatewright",
		ir.Files: "read the files of this generation: %s; see whether Gatewright reaches their port for readiness, and the events of the pods",
	}
	notAttached = outcome.Condition{
		State: outcome.False, Reason: outcome.NotAttached, Message: "no proxy serves the route for this parent; see Accepted",
	}
)

// maxPods is the number of pods that a message names.
const maxPods = 3

// condition returns the condition Programmed of an object at a Gateway. The caller sets its type.
func (s *Statuses) condition(id convergence.Object, gateway string) outcome.Condition {
	p := s.tracker.Progress(id, gateway)
	nacked := s.objects[id].nacks[gateway].Message
	switch {
	case nacked != "":
		return nackedCondition(nacked)
	case !p.Waiting && p.Service != "":
		message := fmt.Sprintf("waiting for Service %s to have endpoints at the shared proxies", p.Service)
		return outcome.Condition{State: outcome.Unsettled, Reason: reasonPending, Message: message}
	case !p.Waiting && s.tracker.Progress(id, rateLimitService).Waiting:
		return rateLimitCondition(s.tracker.Progress(id, rateLimitService))
	case !p.Waiting:
		return outcome.Condition{State: outcome.True, Reason: reasonProgrammed, Message: programmed[p.Delivery]}
	case p.DeliveryError != "":
		message := fmt.Sprintf("the proxies of Gateway %s cannot be supplied: %s", gateway, p.DeliveryError)
		return outcome.Condition{State: outcome.False, Reason: reasonPending, Message: message}
	case p.Late:
		return outcome.Condition{State: outcome.False, Reason: reasonPending, Message: lateMessage(p, gateway)}
	default:
		message := "waiting for the proxies to acknowledge this generation"
		return outcome.Condition{State: outcome.Unsettled, Reason: reasonPending, Message: message}
	}
}

// rateLimitService is the group of the rate limit service.
var rateLimitService = ir.RateLimitService.String()

// rateLimitCondition is the condition of an object whose limits the rate limit service does not know yet.
func rateLimitCondition(p convergence.Progress) outcome.Condition {
	message, state := "waiting for the rate limit service to acknowledge the limits", outcome.Unsettled
	switch {
	case p.Late && p.Pods == 0:
		message, state = "no pod of the rate limit service is ready; see its pods, and whether it reaches Redis", outcome.False
	case p.Late:
		state = outcome.False
		message = fmt.Sprintf("%d pods of the rate limit service have not acknowledged the limits: %s; see the logs of their "+
			"container forward, and whether it reaches Gatewright",
			len(p.Behind), strings.Join(p.Behind[:min(len(p.Behind), maxPods)], ", "))
	}
	return outcome.Condition{State: state, Reason: reasonPending, Message: message}
}

// nackedCondition is the condition of an object whose configuration proxies NACK.
func nackedCondition(reason string) outcome.Condition {
	return outcome.Condition{State: outcome.False, Reason: outcome.Refused, Message: reason}
}

// lateMessage names the proxies that a late object waits for.
func lateMessage(p convergence.Progress, gateway string) string {
	if p.Pods == 0 {
		return fmt.Sprintf("no proxy of Gateway %s is ready; see its pods", gateway)
	}
	named := strings.Join(p.Behind[:min(len(p.Behind), maxPods)], ", ")
	return fmt.Sprintf("%d proxies of Gateway %s have not "+behind[p.Delivery], len(p.Behind), gateway, named)
}

// withProgrammed replaces the condition Programmed of a Gateway or listener that would be true while its proxies have not acknowledged it.
func withProgrammed(conditions []outcome.Condition, own outcome.Condition) []outcome.Condition {
	if own.State == outcome.True {
		return conditions
	}
	decorated := slices.Clone(conditions)
	for i := range decorated {
		if decorated[i].Type == string(gwv1.GatewayConditionProgrammed) && decorated[i].State == outcome.True {
			own.Type = decorated[i].Type
			decorated[i] = own
		}
	}
	return decorated
}

// withFleetError adds to the condition Programmed of a Gateway why its fleet cannot be applied. Proxies that serve go on serving.
func withFleetError(problem string, conditions []outcome.Condition) []outcome.Condition {
	i := slices.IndexFunc(conditions, func(c outcome.Condition) bool { return c.Type == string(gwv1.GatewayConditionProgrammed) })
	if problem == "" || i < 0 || conditions[i].Reason == string(gwv1.GatewayReasonInvalid) {
		return conditions
	}
	decorated := slices.Clone(conditions)
	if decorated[i].State == outcome.True {
		decorated[i].Message += "; what has changed about its fleet cannot be applied: " + problem
	} else {
		decorated[i].Message = "the Gateway's fleet cannot be applied: " + problem
	}
	return decorated
}
