// Package route says what HTTPRoutes and GRPCRoutes mean: which listeners they attach to, with which hostnames, and what their rules do.
// Enter at [HTTP] and [GRPC] for one route and at [VirtualHost] for the rules of one hostname in order of precedence.
// It must not know how a proxy is configured, or anything of a Gateway beyond what its listeners let in.
package route
