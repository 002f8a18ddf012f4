package xds

import "time"

// Limits for one caller. A proxy is run by a tenant, who may run another program in its place. All limits are far above what Envoy
// needs.
const (
	// maxReason is the number of bytes of a NACK's reason that are used. Envoy sends no more than this.
	maxReason = 4 << 10
	// maxUnknown is the number of names of each type that a proxy may subscribe to before they exist, and maxUnknownBytes their length.
	// Envoy requests what its configuration names, which exists.
	maxUnknown      = 4096
	maxUnknownBytes = 1 << 20
	// maxGone is the number of resources of each type that a proxy may list when it reconnects and that do not exist any more, and
	// maxGoneBytes is the length of their names. Each of them has to be removed, so none can be ignored. They are gone since the proxy
	// lost its stream, a few seconds before.
	maxGone      = 32 << 10
	maxGoneBytes = 4 << 20
	// maxReceived is the size of a request. A proxy that reconnects lists the name and the version of everything it has of a type, and the
	// names of endpoints and secrets twice. A scope takes listedBytes there at most, and 120 bytes as a rule. So a Gateway may have 39,000
	// hostnames of the greatest length, or 130,000 of usual ones. A proxy that has more cannot reconnect.
	maxReceived = 16 << 20
	// listedBytes is the size of the longest name of a scope in such a list: a namespace, a Gateway, a port and a hostname, with
	// separators, the version and the lengths of all.
	listedBytes = 63 + 63 + 5 + 253 + 3 + 2*versionBytes + 10
	// maxUnanswered is the number of responses of a type that may wait for an answer. Envoy has several only if it requests more before it
	// has read the first.
	maxUnanswered = 8
	// maxStreamsOfProxy is the number of streams that a proxy may have. Envoy has one, and broken ones until pings detect them.
	maxStreamsOfProxy = 4
	// sendTimeout is how long a caller that does not read may delay a response, and endTimeout how long the end of its stream. A proxy
	// that does not answer pings for as long is considered gone anyway.
	sendTimeout = 30 * time.Second
	endTimeout  = 5 * time.Second
	// maxUnread is the number of bytes that ended streams may leave unread on a connection before it is closed.
	maxUnread = 1 << 20
	// maxUnauthenticated is the number of connections of one address without an admitted stream. All proxies of a node may have the same
	// address.
	maxUnauthenticated = 256
	// rejectionDelay is how long a caller with an invalid token waits for the answer. Each such call takes one of the few streams of its
	// connection meanwhile, so tokens cannot be tried by the thousand. A proxy with a wrong token waits longer than that before it
	// retries.
	rejectionDelay = 500 * time.Millisecond
	// maxIdle is how long a connection may have no stream. Envoy opens one at once, and another one soon after it has ended.
	maxIdle = 2 * time.Minute
	// maxHeaders is the maximum size of the headers of a call. A token has at most 16 KiB.
	maxHeaders = 64 << 10
)
