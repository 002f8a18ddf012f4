package app

import (
	"fmt"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"github.com/gatewright/gatewright/internal/identity"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/peers"
	"github.com/gatewright/gatewright/internal/ratelimit"
	"github.com/gatewright/gatewright/internal/store"
)

// newRateLimits configures the rate limit service, if there is one. Its pods are tracked like the proxies of a Gateway.
func (p *replica) newRateLimits(peerServer *peers.Server) *ratelimit.Server {
	if p.options.RateLimits {
		p.tracker.Fleet(ir.Gateway{Name: ir.RateLimitService}, store.Key(p.options.Namespace, ir.RateLimitServiceName))
	}
	return ratelimit.NewServer(p.log, observer{tracker: p.tracker, peerServer: peerServer})
}

// rateLimitAccount is the ServiceAccount of the rate limit service, zero if there is none.
func (o *Options) rateLimitAccount() identity.ServiceAccount {
	if !o.RateLimits {
		return identity.ServiceAccount{}
	}
	return identity.ServiceAccount{Namespace: o.Namespace, Name: ir.RateLimitServiceName}
}

// forwardCommand runs beside the rate limit service, and gets its configuration.
func forwardCommand() *cobra.Command {
	var f ratelimit.Forwarder
	var address string
	command := &cobra.Command{
		Use:   "forward-rate-limits",
		Short: "Forward the rate limit service's calls for its configuration, with the token of its pod",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.Log = slog.New(slog.NewJSONHandler(c.ErrOrStderr(), nil))
			listener, err := new(net.ListenConfig).Listen(c.Context(), "tcp", address)
			if err != nil {
				return fmt.Errorf("open %s: %w", address, err)
			}
			return f.Run(c.Context(), listener)
		},
	}
	flags := command.Flags()
	flags.StringVar(&address, "address", "127.0.0.1:18001", "address that the rate limit service calls, without TLS")
	flags.StringVar(&f.Server, "server", "", "host and port of Gatewright's xDS servers, with the host in their certificate")
	flags.StringVar(&f.BundleFile, "ca-file", "", "file with the authorities that signed that certificate")
	flags.StringVar(&f.TokenFile, "token-file", "", "file with the token of the pod")
	for _, name := range []string{"server", "ca-file", "token-file"} {
		_ = command.MarkFlagRequired(name)
	}
	return command
}
