package simulation

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatewright/gatewright/internal/store"
)

// Action is one thing that the scheduler lets happen. N and M are numbers of replicas, proxies, slots or Gateways, or seconds.
type Action struct {
	Verb string
	N, M int
	Kind store.Kind
}

// The verbs. Whatever is not possible is skipped when a trace is performed, so that parts of it can be left out.
const (
	// What users do. putRoute makes or changes the route of slot N with backend M, spoilRoute has it refused by proxies.
	putRoute, spoilRoute, deleteRoute = "put-route", "spoil-route", "delete-route"
	putSecret, deleteSecret           = "put-secret", "delete-secret"
	// setListeners gives Gateway N the listeners of mask M: 1 for HTTP, 2 for HTTPS.
	setListeners              = "set-listeners"
	putService, deleteService = "put-service", "delete-service"
	putEndpoints              = "put-endpoints"
	// report has Kubernetes say which proxies of Gateway N are ready.
	report = "report"

	// What arrives: an event at replica N; the last one again; all of a kind, each object as it is now, one by one or together; a call of
	// replica N at the API server, or its failure.
	watch, duplicate, relist = "watch", "duplicate", "relist"
	handle, fail             = "handle", "fail"
	// assign has the endpoints lane of replica N reach the cache.
	assign = "assign"
	// members tells replica N who the others are.
	members = "members"
	// Messages from and to proxy N, and between replicas N and M.
	request1, response1         = "request", "response"
	peerRequest1, peerResponse1 = "peer-request", "peer-response"

	// Faults. connect has proxy N connect to replica M; notice has the replica see that a stream is over.
	cut, notice, connect, cutPeer      = "cut", "notice", "connect", "cut-peer"
	pause, resume, crash, startReplica = "pause", "resume", "crash", "start"
	restartProxy                       = "restart-proxy"
	// elect gives the lease to replica N, or takes it from all if it is -1.
	elect = "elect"

	// sleep lets N milliseconds pass. settle lets everything arrive and checks what holds at rest.
	sleep, settle = "sleep", "settle"
)

// together as M of relist has all events be one batch.
const together = 1

func (a Action) String() string {
	s := fmt.Sprintf("%s %d %d", a.Verb, a.N, a.M)
	if a.Kind != "" {
		s += " " + string(a.Kind)
	}
	if a.Verb == sleep {
		s = fmt.Sprintf("%s %d 0 # %s", a.Verb, a.N, time.Duration(a.N)*time.Millisecond)
	}
	return s
}

// ParseAction is the inverse of String.
func ParseAction(text string) (Action, error) {
	text, _, _ = strings.Cut(text, "#")
	var a Action
	n, err := fmt.Sscanf(strings.TrimSpace(text)+" -", "%s %d %d %s", &a.Verb, &a.N, &a.M, &a.Kind)
	if n < 3 {
		return a, fmt.Errorf("%q is no action: %w", text, err)
	}
	if a.Kind == "-" {
		a.Kind = ""
	}
	return a, nil
}
