package bootstrap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatewright/gatewright/internal/ir"
)

// Where a proxy finds its files.
const (
	// ConfigDirectory holds what [Files] returns, and [BundleFile].
	ConfigDirectory = "/etc/envoy"
	// TokenDirectory holds [TokenFile].
	TokenDirectory = "/var/run/secrets/gatewright.dev/xds" //nolint:gosec // a path, not a credential
	// AdminDirectory holds [AdminSocket] and [PressureFile]. Envoy writes to it.
	AdminDirectory = "/run/envoy"
	// AdminSocket is Envoy's administration interface.
	AdminSocket = AdminDirectory + "/admin.sock"
	// PressureFile is read by the overload manager and written by the program that drains a proxy.
	PressureFile = AdminDirectory + "/drain-pressure"

	// ConfigFile is the bootstrap itself.
	ConfigFile = "bootstrap.json"
	// BundleFile holds the certificate authorities by which proxies verify the control plane.
	BundleFile = "ca.crt"
	// TokenFile is a token by which a proxy authenticates to the control plane.
	TokenFile = "token"

	tokenSDS      = "sds-token.json" //nolint:gosec // a path, not a credential
	validationSDS = "sds-validation.json"
)

// xdsCluster is the cluster of the control plane in the bootstrap.
const xdsCluster = "gatewright-xds"

// Files returns the files of [ConfigDirectory] that Envoy starts with, without [BundleFile]. They hold no secret.
func Files(gateway ir.Gateway, options Options) (map[string]string, error) {
	bootstrap, err := bootstrap(gateway, options)
	if err != nil {
		return nil, err
	}
	messages := map[string]checkable{ConfigFile: bootstrap}
	if gateway.Fleet.Delivery == ir.XDS {
		if messages[tokenSDS], err = tokenSecret(); err != nil {
			return nil, err
		}
		if messages[validationSDS], err = validationSecret(options.ControlPlane); err != nil {
			return nil, err
		}
	}
	files := map[string]string{}
	for name, message := range messages {
		if err := message.ValidateAll(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if files[name], err = encode(message); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return files, nil
}

// checkable is a message with constraints.
type checkable interface {
	proto.Message
	ValidateAll() error
}

// bootstrap tells Envoy where its configuration is. The first fetch has no timeout, so that Envoy opens no listener, and is not ready,
// before it has its whole configuration.
func bootstrap(gateway ir.Gateway, options Options) (*bootstrapv3.Bootstrap, error) {
	dynamic, clusters, err := configSource(gateway, options.ControlPlane)
	if err != nil {
		return nil, err
	}
	ready, err := readyListener(gateway, options.Families)
	if err != nil {
		return nil, err
	}
	manager, err := overloadManager(gateway, options)
	if err != nil {
		return nil, err
	}
	if !gateway.Fleet.Proxies.Metrics.Hidden && gateway.Fleet.Delivery != ir.Files {
		clusters = append(clusters, adminInterface())
	}
	// The command line sets the ID, which is the pod's name. The control plane trusts the token alone, and rejects a node that contradicts it.
	node, listeners := &corev3.Node{Cluster: gateway.Name.String()}, []*listenerv3.Listener{ready}
	if gateway.Fleet.Delivery == ir.XDS {
		if listeners, err = withAnchor(node, listeners); err != nil {
			return nil, err
		}
	}
	return &bootstrapv3.Bootstrap{
		Node: node,
		Admin: &bootstrapv3.Admin{Address: &corev3.Address{Address: &corev3.Address_Pipe{
			Pipe: &corev3.Pipe{Path: AdminSocket, Mode: 0o600},
		}}},
		DynamicResources: dynamic,
		StaticResources: &bootstrapv3.Bootstrap_StaticResources{
			Listeners: listeners,
			Clusters:  clusters,
		},
		LayeredRuntime:  runtimeLayers(),
		StatsConfig:     statsConfig(gateway.Fleet.Proxies.Metrics),
		OverloadManager: manager,
	}, nil
}

// maxRegexSize is what the resolver allows, with a reserve because Envoy counts differently. With its default of 100 Envoy rejects a
// route table if an expression contains a hostname of ordinary length.
const maxRegexSize = 100_000

func runtimeLayers() *bootstrapv3.LayeredRuntime {
	return &bootstrapv3.LayeredRuntime{Layers: []*bootstrapv3.RuntimeLayer{{
		Name: "static",
		LayerSpecifier: &bootstrapv3.RuntimeLayer_StaticLayer{StaticLayer: &structpb.Struct{Fields: map[string]*structpb.Value{
			"re2.max_program_size.error_level":                                  structpb.NewNumberValue(maxRegexSize),
			"envoy.resource_limits.listener." + readyName + ".connection_limit": structpb.NewNumberValue(readyConnections),
		}}},
	}}}
}

// statsConfig keeps the statistics that show the health of a proxy, and those of rules whose policy names them (vhost). Those of backends
// cost memory for each of thousands of clusters, so they are kept only on request.
func statsConfig(wanted ir.Metrics) *metricsv3.StatsConfig {
	var patterns []*matcherv3.StringMatcher
	prefixes := []string{
		"cluster." + xdsCluster + ".", "cluster_manager.", "control_plane.", "http.", "listener.", "listener_manager.", "main_thread.",
		"overload.", "server.", "tcp.", "udp.", "vhost.", "workers.",
	}
	if wanted.Backends {
		prefixes = append(prefixes, "cluster.")
	}
	for _, prefix := range prefixes {
		patterns = append(patterns, &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: prefix}})
	}
	return &metricsv3.StatsConfig{StatsMatcher: &metricsv3.StatsMatcher{StatsMatcher: &metricsv3.StatsMatcher_InclusionList{
		InclusionList: &matcherv3.ListStringMatcher{Patterns: patterns},
	}}}
}

// encode returns JSON with the field names of Envoy's documentation. The protobuf library varies white space on purpose, so encode
// formats it again.
func encode(message proto.Message) (string, error) {
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		return "", fmt.Errorf("encoding: %w", err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, raw, "", "  "); err != nil {
		return "", fmt.Errorf("indenting: %w", err)
	}
	return indented.String() + "\n", nil
}

// pack wraps a message deterministically.
func pack(message proto.Message) (*anypb.Any, error) {
	wrapped := &anypb.Any{}
	if err := anypb.MarshalFrom(wrapped, message, proto.MarshalOptions{Deterministic: true}); err != nil {
		return nil, fmt.Errorf("packing %s: %w", message.ProtoReflect().Descriptor().FullName(), err)
	}
	return wrapped, nil
}

// Hash changes when any of the files does.
func Hash(files map[string]string) string {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(files[name]), files[name])
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}
