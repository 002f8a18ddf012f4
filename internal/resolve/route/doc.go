// Package route resolves routes of all kinds: which listeners they attach to, with which hostnames, and what their rules do.
// Enter at [HTTP], [GRPC], [TLS], [TCP] and [UDP] for one route, at [Hosts.VirtualHost] for the rules of one hostname in order of
// precedence, and at [Port] for forwarded connections. It must not know how a proxy is configured, or more of a Gateway than its listeners.
package route
