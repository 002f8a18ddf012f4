// Package ratelimit configures the rate limit service (github.com/envoyproxy/ratelimit) over xDS. Enter at [Config], which makes its
// configuration of global limits, and at [Server], which serves that to the service's pods. [Forwarder] is the part of such a pod that
// proves to Gatewright what it is. It must not know routes or Gateways.
package ratelimit
