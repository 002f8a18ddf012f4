// Package proxyconfig reads the spec of a ProxyConfig: how its proxies run, and what one spec changes in another. Enter at [Proxies]
// and [Merge]. It must not know Gateways or GatewayClasses, and it follows no reference.
package proxyconfig
