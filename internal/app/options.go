package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/extension"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/watch"
)

// Options are the flags of the control plane.
type Options struct {
	Namespace      string
	ServiceAccount string
	TokenFile      string
	XDSAddress     string
	HealthAddress  string
	MetricsAddress string
	ProxyImage     string
	Image          string
	ClusterDomain  string
	// ClusterID is the name of the cluster among those that share ServiceImports, empty if it has none.
	ClusterID string
	// IPFamilies are the IP families of the cluster's pods, none to take those of this pod.
	IPFamilies []string
	families   ir.Families
	// WatchNamespaces are the namespaces that are watched, none for all.
	WatchNamespaces []string
	// ControllerName is the name by which a GatewayClass chooses this installation.
	ControllerName string
	LeaderElect    bool
	// Files says that delivery by files is offered.
	Files bool
	// ExternalHostnames says that XBackends may lead out of the cluster.
	ExternalHostnames bool
	// SocketDirectories are where Unix sockets of Backends may be.
	SocketDirectories []string
	// Extensions are the types of extensions that are enabled: extProc, lua.
	Extensions []string
	// RateLimits says that there is a rate limit service.
	RateLimits bool
	// DeniedAddresses are where their names may not lead.
	DeniedAddresses []string
	denied          []netip.Prefix
	extensionTypes  store.ExtensionTypes

	LogLevel  string
	LogFormat string
	// Limits changes some of [limits.Defaults].
	Limits map[string]int
	// Instance is the name of this replica.
	Instance string
	// PanicFor has a stage panic, for tests: `<stage>=<part of a key>`.
	PanicFor string
}

// maxControllerName is the longest that the Gateway API allows.
const maxControllerName = 253

// logLevels are all there are. Below debug, client libraries would log whole requests and answers, Secrets and tokens among them.
var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// Command is the command line.
func Command() *cobra.Command {
	o := Options{Namespace: os.Getenv("POD_NAMESPACE")}
	command := &cobra.Command{
		Use:           "gatewright",
		Short:         "The Gatewright control plane: Gateway API objects in, configured Envoy proxies out",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			log, err := o.complete()
			if err != nil {
				return err
			}
			return Run(c.Context(), o, log)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace that Gatewright runs in (default $POD_NAMESPACE)")
	flags.StringVar(&o.ServiceAccount, "service-account", "gatewright", "ServiceAccount, in that namespace, of every replica of Gatewright")
	flags.StringVar(
		&o.TokenFile, "token-file", bootstrap.TokenDirectory+"/"+bootstrap.TokenFile,
		"file with the token of that ServiceAccount, by which other replicas know this one",
	)
	flags.StringVar(&o.XDSAddress, "xds-address", fmt.Sprintf(
		":%d", bootstrap.DefaultXDSPort,
	), "address that proxies get their configuration from, over TLS")
	flags.StringVar(&o.HealthAddress, "health-address", ":8081", "address of /healthz and /readyz")
	flags.StringVar(&o.MetricsAddress, "metrics-address", ":8080", "address of /metrics, 0 for none")
	flags.StringVar(&o.ProxyImage, "proxy-image", render.DefaultImage, "image of the proxies")
	flags.StringVar(
		&o.Image, "image", "",
		"image of this program, with the one that each proxy runs to finish before it ends (default: none, proxies only pause)",
	)
	flags.StringVar(&o.ClusterDomain, "cluster-domain", "", "DNS domain of the cluster (default: read from /etc/resolv.conf)")
	flags.StringVar(&o.ClusterID, "cluster-id", "",
		"name of this cluster, as the label "+mcsv1beta1.LabelSourceCluster+" has it: its endpoints of a ServiceImport come first "+
			"(default: all clusters are alike)")
	flags.StringSliceVar(&o.IPFamilies, "ip-families", nil,
		"IP families of the cluster's pods, IPv4 or IPv6 or both, the preferred one first (default: those of $POD_IPS)")
	flags.StringSliceVar(&o.WatchNamespaces, "watch-namespaces", nil, "namespaces to watch, and to read and write in (default: all)")
	flags.StringVar(
		&o.ControllerName, "controller-name", string(class.ControllerName),
		"name by which a GatewayClass chooses this installation, as <domain>/<path>",
	)
	flags.BoolVar(&o.LeaderElect, "leader-elect", true, "let one of several replicas write status and run fleets")
	flags.BoolVar(
		&o.Files, "files", false,
		"offer delivery Files, which needs the right to write Secrets and to patch pods in the namespaces of Gateways",
	)
	flags.StringToIntVar(&o.Limits, "limits", nil, "how much a tenant may take, as name=number,..., see docs/limits.md (default: generous)")
	flags.BoolVar(&o.ExternalHostnames, "external-hostnames", true, "serve XBackends of type ExternalHostname, which lead out of the cluster")
	flags.StringSliceVar(&o.Extensions, "extensions", nil, "types of Extensions to serve: extProc, lua")
	flags.BoolVar(&o.RateLimits, "rate-limits", false,
		"serve global rate limits, and configure the rate limit service that runs as "+ir.RateLimitServiceName)
	flags.StringSliceVar(&o.SocketDirectories, "unix-socket-directories", nil,
		"directories in the pods of proxies where Unix sockets of Backends may be; without any, Backends have no Unix sockets")
	flags.StringSliceVar(&o.DeniedAddresses, "external-hostname-denied-addresses", nil,
		"address ranges that no name of such an XBackend may resolve to, e.g. those of pods and Services, "+
			"beside loopback, link-local and metadata addresses")
	flags.StringVar(&o.LogLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&o.LogFormat, "log-format", "json", "json or text")
	flags.StringVar(&o.PanicFor, "panic-for", "", "for tests: have a stage of the pipeline panic for keys, as <stage>=<part of a key>")
	_ = flags.MarkHidden("panic-for")
	command.AddCommand(installCommand(), forwardCommand(), versionCommand())
	return command
}

// fault is what a stage does in tests once it has computed a value.
func (o *Options) fault() func(stage, key string) {
	at, part, wanted := strings.Cut(o.PanicFor, "=")
	if !wanted {
		return nil
	}
	return func(stage, key string) {
		if stage == at && strings.Contains(key, part) {
			panic("by --panic-for")
		}
	}
}

// forPipeline are the flags that the pipeline has to know.
func (o *Options) forPipeline(log *slog.Logger) []pipeline.Option {
	return []pipeline.Option{
		pipeline.WithLog(log), pipeline.WithSystemNamespace(o.placement()), pipeline.WithFiles(o.Files), pipeline.WithLimits(o.limits()),
		pipeline.WithFault(o.fault()), pipeline.WithClusterID(o.ClusterID),
		pipeline.WithClusterDomain(o.ClusterDomain), pipeline.WithFamilies(o.families), pipeline.WithController(o.controller()),
		pipeline.WithSocketDirectories(o.SocketDirectories), pipeline.WithExtensions(o.extensionTypes),
		pipeline.WithExternalHostnames(o.ExternalHostnames, o.denied), pipeline.WithGlobalRateLimits(o.RateLimits),
	}
}

func (o *Options) limits() limits.Limits {
	l := limits.Defaults()
	// The flag has been checked.
	_ = l.Set(o.Limits)
	return l
}

// listed is how many hostnames and backends a proxy can have. There is room for as many hostnames again that only answer errors.
func (o *Options) listed() (hostnames, backends int) {
	l := o.limits()
	return 2 * l.GatewayHostnames, l.GatewayBackends
}

// placement is the namespace for proxies that are not to run beside their Gateway: Gatewright's own, if it is watched.
func (o *Options) placement() string {
	if len(o.WatchNamespaces) > 0 && !slices.Contains(o.WatchNamespaces, o.Namespace) {
		return ""
	}
	return o.Namespace
}

// scope is where objects are watched.
func (o *Options) scope() watch.Scope {
	return watch.Scope{Namespaces: o.WatchNamespaces, System: o.Namespace, Fleets: render.Selector(o.installation())}
}

func (o *Options) controller() gwv1.GatewayController {
	return gwv1.GatewayController(o.ControllerName)
}

// installation is the label of what this installation makes.
func (o *Options) installation() string { return class.Installation(o.controller()) }

// complete checks the flags and fills in what can be found out.
func (o *Options) complete() (*slog.Logger, error) {
	if o.Namespace == "" {
		return nil, errors.New("the namespace is not known; set --namespace or the environment variable POD_NAMESPACE")
	}
	if domain, path, _ := strings.Cut(o.ControllerName, "/"); domain == "" || path == "" || len(o.ControllerName) > maxControllerName {
		return nil, fmt.Errorf("--controller-name %q is not <domain>/<path> of at most %d characters", o.ControllerName, maxControllerName)
	}
	o.Instance, _ = os.Hostname() // in a pod, its name
	if o.ClusterDomain == "" {
		o.ClusterDomain = detectClusterDomain(resolvConf)
	}
	if err := o.findFamilies(); err != nil {
		return nil, err
	}
	if known := limits.Defaults(); len(o.Limits) > 0 {
		if err := known.Set(o.Limits); err != nil {
			return nil, fmt.Errorf("--limits: %w", err)
		}
	}
	if err := errors.Join(o.readExtensions(), o.readDeniedAddresses(), o.checkRateLimits()); err != nil {
		return nil, err
	}
	level, ok := logLevels[o.LogLevel]
	if !ok {
		return nil, fmt.Errorf("--log-level %q is not debug, info, warn or error", o.LogLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	switch o.LogFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, options)), nil
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, options)), nil
	default:
		return nil, fmt.Errorf("--log-format %q is not json or text", o.LogFormat)
	}
}

func (o *Options) readExtensions() error {
	for _, name := range o.Extensions {
		switch name {
		case extension.TypeExtProc:
			o.extensionTypes.ExtProc = true
		case extension.TypeLua:
			o.extensionTypes.Lua = true
		default:
			return fmt.Errorf("--extensions: %q is not a type of extensions; use %s and %s", name, extension.TypeExtProc, extension.TypeLua)
		}
	}
	return nil
}

func (o *Options) readDeniedAddresses() error {
	for _, text := range o.DeniedAddresses {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("--external-hostname-denied-addresses: %q is not an address range such as 10.0.0.0/8", text)
		}
		o.denied = append(o.denied, prefix.Masked())
	}
	return nil
}

func (o *Options) checkRateLimits() error {
	if o.RateLimits && o.placement() == "" {
		return fmt.Errorf("--rate-limits needs namespace %s among --watch-namespaces: the rate limit service is there", o.Namespace)
	}
	return nil
}
