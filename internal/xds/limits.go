package xds

import "time"

// What one caller may take of the control plane. A proxy is run by a tenant, who may run something else in its place. All limits are far
// above what Envoy needs.
const (
	// maxReason is how much of the reason of a NACK is used, in bytes. Envoy sends no more than this.
	maxReason = 4 << 10
	// maxUnknown is how many names a proxy may subscribe to, for each type, that did not exist when it did, and maxUnknownBytes how long they
	// may be together. Envoy asks for what its configuration names, which exists.
	maxUnknown      = 4096
	maxUnknownBytes = 1 << 20
	// maxUnanswered is how many responses of a type may wait for an answer. Envoy has several only when it asks for more before it has read
	// the first.
	maxUnanswered = 8
	// maxStreamsOfProxy is how many streams a proxy may have. Envoy has one, and others that broke without a word, until pings find out.
	maxStreamsOfProxy = 4
	// sendPatience is how long a caller that does not read may hold back a response, and endPatience how long the end of its stream. A proxy
	// that does not answer pings for as long is taken to be gone anyway.
	sendPatience = 30 * time.Second
	endPatience  = 5 * time.Second
	// maxUnread is how many bytes streams that are over may leave unread on a connection before it is closed.
	maxUnread = 1 << 20
	// maxStrangers is how many connections of one address may have no admitted stream. All proxies of a node may have the same address.
	maxStrangers = 256
	// refusalDelay is how long a caller whose token is not accepted waits for the answer. Each such call takes one of the few streams of its
	// connection for as long, so tokens can not be tried by the thousand. A proxy with a wrong token waits longer than that by itself before
	// it tries again.
	refusalDelay = 500 * time.Millisecond
	// maxIdle is how long a connection may have no stream at all. Envoy opens one at once, and another one soon after that has ended.
	maxIdle = 2 * time.Minute
	// maxHeaders is how large the headers of a call may be. A token has at most 16 KiB.
	maxHeaders = 64 << 10
)
