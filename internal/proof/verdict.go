package proof

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// The reasons of a route's condition, besides [outcome.Refused]; the first two are also those of Gateways and listeners.
const (
	reasonProgrammed  = string(gwv1.GatewayReasonProgrammed)
	reasonPending     = string(gwv1.GatewayReasonPending)
	reasonNotAttached = outcome.NotAttached
)

// proved is what is known of an object that is live, and lacking what it waits for, by the way in which proxies are supplied.
var (
	proved = map[ir.Delivery]string{
		ir.XDS:   "every ready proxy has acknowledged this generation",
		ir.Files: "every ready proxy has read the files of this generation; files are not acknowledged, so what a proxy refuses of them is not known here",
	}
	lacking = map[ir.Delivery]string{
		ir.XDS:   "acknowledged this generation: %s; see their logs and whether they reach Gatewright",
		ir.Files: "read the files of this generation: %s; see whether Gatewright reaches their port for readiness, and the events of the pods",
	}
)

// maxNamed is how many pods a message names.
const maxNamed = 3

// verdict is what the proxies of a Gateway have proved of an object. Its type is for the caller to set.
func (k *Keeper) verdict(s subject, gateway string) outcome.Condition {
	b, o := k.book(gateway), k.objects[s]
	w, waits := b.waiting[s]
	switch {
	case o.refused[gateway].reason != "" && len(o.refused[gateway].listeners) == 0:
		return outcome.Condition{State: outcome.False, Reason: outcome.Refused, Message: o.refused[gateway].reason}
	case !waits && b.unled[gateway]:
		return outcome.Condition{State: outcome.Unsettled, Reason: reasonPending, Message: fmt.Sprintf("waiting for Service %s to lead to the proxies that the Gateway shares", b.services[gateway])}
	case !waits:
		return outcome.Condition{State: outcome.True, Reason: reasonProgrammed, Message: proved[b.delivery]}
	case b.hindered != "":
		return outcome.Condition{State: outcome.False, Reason: reasonPending, Message: fmt.Sprintf("the proxies of Gateway %s can not be supplied: %s", gateway, b.hindered)}
	case w.late:
		return outcome.Condition{State: outcome.False, Reason: reasonPending, Message: k.lagging(b, gateway, w)}
	default:
		return outcome.Condition{State: outcome.Unsettled, Reason: reasonPending, Message: "waiting for the proxies to acknowledge this generation"}
	}
}

// lagging says which proxies an object waits for.
func (k *Keeper) lagging(b *book, gateway string, w wait) string {
	pods := k.pods(b)
	if len(pods) == 0 {
		return fmt.Sprintf("no proxy of Gateway %s is ready; see its pods", gateway)
	}
	behind := slices.DeleteFunc(pods, func(pod string) bool { return k.numberOf(b, pod) >= w.number })
	named := strings.Join(behind[:min(len(behind), maxNamed)], ", ")
	return fmt.Sprintf("%d proxies of Gateway %s have not "+lacking[b.delivery], len(behind), gateway, named)
}

// SetRoute says what became of a route, whose proxies have yet to prove it.
func (k *Keeper) SetRoute(kind store.Kind, key string, o outcome.Route) {
	k.set(subject{kind, key}, o.Generation, gatewaysOf(o), func(verdict func(string) outcome.Condition) {
		judged := o
		judged.Parents = slices.Clone(o.Parents)
		for i := range judged.Parents {
			parent := &judged.Parents[i]
			if slices.ContainsFunc(parent.Conditions, func(c outcome.Condition) bool { return c.Type == outcome.RouteProgrammed }) {
				continue
			}
			condition := outcome.Condition{State: outcome.False, Reason: reasonNotAttached, Message: "no proxy serves the route for this parent; see Accepted"}
			if parent.Gateway != "" {
				condition = verdict(parent.Gateway)
			}
			condition.Type = outcome.RouteProgrammed
			parent.Conditions = slices.Concat(parent.Conditions, []outcome.Condition{condition})
		}
		k.Statuses.SetRoute(kind, key, judged)
	})
}

func gatewaysOf(o outcome.Route) []string {
	var gateways []string
	for _, parent := range o.Parents {
		if parent.Gateway != "" && !slices.Contains(gateways, parent.Gateway) {
			gateways = append(gateways, parent.Gateway)
		}
	}
	return gateways
}

// SetGateway says what became of a Gateway.
func (k *Keeper) SetGateway(key string, o outcome.Gateway) {
	s := subject{store.Gateway, key}
	k.set(s, 0, []string{key}, func(verdict func(string) outcome.Condition) {
		judged := o
		judged.Conditions = k.withProblem(key, withVerdict(o.Conditions, verdict(key)))
		judged.Listeners = k.objects[s].refused[key].judge(o.Listeners, verdict(key))
		k.Statuses.SetGateway(key, judged)
	})
}

// SetListenerSet says what became of a ListenerSet.
func (k *Keeper) SetListenerSet(key string, o outcome.ListenerSet) {
	s := subject{store.ListenerSet, key}
	k.set(s, 0, []string{o.Gateway}, func(verdict func(string) outcome.Condition) {
		judged := o
		judged.Conditions = withVerdict(o.Conditions, verdict(o.Gateway))
		judged.Listeners = k.objects[s].refused[o.Gateway].judge(o.Listeners, verdict(o.Gateway))
		k.Statuses.SetListenerSet(key, judged)
	})
}

// judge gives each listener its verdict: that of its object, unless it was refused itself.
func (r refused) judge(listeners []outcome.Listener, verdict outcome.Condition) []outcome.Listener {
	judged := slices.Clone(listeners)
	for i := range judged {
		own := verdict
		if slices.Contains(r.listeners, judged[i].Name) {
			own = outcome.Condition{State: outcome.False, Reason: string(gwv1.ListenerReasonInvalid), Message: r.reason}
		}
		judged[i].Conditions = withVerdict(judged[i].Conditions, own)
	}
	return judged
}

// withVerdict has a Gateway or listener that would be programmed wait for its proxies.
func withVerdict(conditions []outcome.Condition, verdict outcome.Condition) []outcome.Condition {
	if verdict.State == outcome.True {
		return conditions
	}
	judged := slices.Clone(conditions)
	for i := range judged {
		if judged[i].Type == string(gwv1.GatewayConditionProgrammed) && judged[i].State == outcome.True {
			verdict.Type = judged[i].Type
			judged[i] = verdict
		}
	}
	return judged
}

// set takes in an outcome. A route of the same generation, of which there is something else to say, is refused as before until that is
// taken back.
func (k *Keeper) set(s subject, generation int64, gateways []string, publish func(func(string) outcome.Condition)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := &object{generation: generation, gateways: gateways, publish: publish}
	if before := k.objects[s]; before != nil {
		k.stopWaiting(s, before, gateways)
		if generation > 0 && before.generation == generation {
			next.refused = before.refused
		}
	}
	k.objects[s] = next
	for _, gateway := range gateways {
		if k.book(gateway).await(s, k.since) {
			k.metrics.live.Observe(k.now().Sub(k.since).Seconds())
		}
	}
	k.publish(s)
}

// SetPolicy says what became of a policy or an XBackend. Proxies have a say in it only when they refuse what comes from it.
func (k *Keeper) SetPolicy(kind store.Kind, key string, o outcome.Policy) {
	s := subject{kind, key}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.objects[s] = &object{refused: k.objects[s].stillRefused(), publish: func(func(string) outcome.Condition) {
		judged := o
		judged.Ancestors = slices.Clone(o.Ancestors)
		for i := range judged.Ancestors {
			ancestor := &judged.Ancestors[i]
			if r := k.objects[s].refused[gatewayKey(ancestor.Ref)]; r.reason != "" {
				condition := outcome.Condition{Type: outcome.RouteProgrammed, State: outcome.False, Reason: outcome.Refused, Message: r.reason}
				ancestor.Conditions = slices.Concat(ancestor.Conditions, []outcome.Condition{condition})
			}
		}
		k.Statuses.SetPolicy(kind, key, judged)
	}}
	k.publish(s)
}

// gatewayKey is `namespace/name` of the Gateway that is an ancestor of a policy.
func gatewayKey(ref outcome.ParentRef) string {
	if ref.Namespace == nil {
		return ref.Name
	}
	return *ref.Namespace + "/" + ref.Name
}

// stillRefused is what is said of a policy until that is taken back: whether proxies refuse what comes from it is known only later.
func (o *object) stillRefused() map[string]refused {
	if o == nil {
		return nil
	}
	return o.refused
}

// Refuse says that proxies of a Gateway refuse an object, or those of its listeners that are named, and in their words why. It holds until
// the next outcome is set; of a route, until that of another generation is.
func (k *Keeper) Refuse(kind store.Kind, key, gateway string, listeners []string, reason string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := subject{kind, key}
	o := k.objects[s]
	if o == nil || o.refused[gateway].reason == reason && slices.Equal(o.refused[gateway].listeners, listeners) {
		return
	}
	if o.refused == nil {
		o.refused = map[string]refused{}
	}
	o.refused[gateway] = refused{reason, listeners}
	k.publish(s)
}

// Accept takes a refusal back. Whether proxies take what has replaced it is yet to be seen.
func (k *Keeper) Accept(kind store.Kind, key, gateway string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := subject{kind, key}
	o := k.objects[s]
	if o == nil || o.refused[gateway].reason == "" {
		return
	}
	delete(o.refused, gateway)
	if slices.Contains(o.gateways, gateway) {
		k.book(gateway).await(s, k.since)
	}
	k.publish(s)
}

// Live says whether every ready proxy of a Gateway has acknowledged the last outcome of an object.
func (k *Keeper) Live(kind store.Kind, key, gateway string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := subject{kind, key}
	o := k.objects[s]
	if o == nil || o.refused[gateway].reason != "" || !slices.Contains(o.gateways, gateway) {
		return false
	}
	_, waits := k.book(gateway).waiting[s]
	return !waits
}

// Forget drops what was to be said of an object.
func (k *Keeper) Forget(kind store.Kind, key string) {
	k.drop(subject{kind, key})
	k.Statuses.Forget(kind, key)
}

// ReleaseGateway withdraws what was said of a Gateway that is no longer ours.
func (k *Keeper) ReleaseGateway(key string, generation int64) {
	k.drop(subject{store.Gateway, key})
	k.Statuses.ReleaseGateway(key, generation)
}

// WithdrawListenerSet replaces what was said of a ListenerSet, and forgets it.
func (k *Keeper) WithdrawListenerSet(key string, o outcome.ListenerSet) {
	k.drop(subject{store.ListenerSet, key})
	k.Statuses.WithdrawListenerSet(key, o)
}

func (k *Keeper) drop(s subject) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if o := k.objects[s]; o != nil {
		k.stopWaiting(s, o, nil)
		delete(k.objects, s)
	}
}

// stopWaiting forgets that an object waits for Gateways, except for those to keep.
func (k *Keeper) stopWaiting(s subject, o *object, keep []string) {
	for _, gateway := range o.gateways {
		if b := k.books[k.groupOf(gateway)]; b != nil && !slices.Contains(keep, gateway) {
			delete(b.waiting, s)
		}
	}
}
