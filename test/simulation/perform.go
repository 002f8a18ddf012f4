package simulation

import (
	"slices"
	"strings"
)

// performers do what each verb says. They return false if the action is not possible.
var performers map[string]func(*simulation, Action) bool

func init() {
	performers = map[string]func(*simulation, Action) bool{
		putRoute: (*simulation).setRoute, spoilRoute: (*simulation).setRoute, deleteRoute: (*simulation).removeRoute,
		putSecret: (*simulation).setSecret, deleteSecret: (*simulation).removeSecret, setListeners: (*simulation).setGateway,
		putService: (*simulation).setService, deleteService: (*simulation).removeService, putEndpoints: (*simulation).setEndpoints,
		report: (*simulation).reportReady,

		watch: (*simulation).deliverEvent, duplicate: (*simulation).repeatEvent, relist: (*simulation).deliverAll,
		handle: (*simulation).handleCall, fail: (*simulation).failCall, assign: (*simulation).deliverAssignments,
		members: (*simulation).introduce,

		request1: (*simulation).deliverRequest, response1: (*simulation).deliverResponse,
		peerRequest1: (*simulation).deliverPeerRequest, peerResponse1: (*simulation).deliverPeerResponse,

		cut: (*simulation).cutProxy, notice: (*simulation).noticeCut, connect: (*simulation).connectProxy, cutPeer: (*simulation).cutReplicas,
		pause: (*simulation).pauseReplica, resume: (*simulation).resumeReplica, crash: (*simulation).crashReplica,
		startReplica: (*simulation).startAgain,
		restartProxy: (*simulation).restartEnvoy, elect: (*simulation).moveLease,
		sleep: (*simulation).pass, settle: (*simulation).rest,
	}
}

// perform does an action and checks what must hold after it. It returns false if the action is not possible.
func (s *simulation) perform(a Action) bool {
	do, known := performers[a.Verb]
	if !known || !do(s, a) {
		return false
	}
	s.wait()
	s.check()
	return true
}

// running is a replica that something can arrive at, nil if it is not there.
func (s *simulation) running(i int) *replica {
	if i < 0 || i >= len(s.replicas) || s.replicas[i] == nil || s.replicas[i].paused {
		return nil
	}
	return s.replicas[i]
}

// proxy is one of the proxies, nil if there is none of that number.
func (s *simulation) proxy(i int) *proxy {
	if i < 0 || i >= len(s.proxies) {
		return nil
	}
	return s.proxies[i]
}

// describe names what is in a response.
func describe(m *response) string {
	var names []string
	for _, r := range m.GetResources() {
		names = append(names, r.GetName())
	}
	for _, name := range m.GetRemovedResources() {
		names = append(names, "-"+name)
	}
	slices.Sort(names)
	return short(m.GetTypeUrl()) + " " + strings.Join(names, " ")
}

func describeRequest(m *request) string {
	text := short(m.GetTypeUrl())
	switch {
	case m.GetErrorDetail() != nil:
		text += " NACK " + m.GetResponseNonce()
	case m.GetResponseNonce() != "":
		text += " ACK " + m.GetResponseNonce()
	}
	for _, name := range m.GetResourceNamesSubscribe() {
		text += " +" + name
	}
	for _, name := range m.GetResourceNamesUnsubscribe() {
		text += " -" + name
	}
	return text
}

// short is the name of a type.
func short(typeURL string) string { return typeURL[strings.LastIndexByte(typeURL, '.')+1:] }
