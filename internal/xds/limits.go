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
