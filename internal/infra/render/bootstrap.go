package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatewright/gatewright/internal/ir"
)

// Where a proxy finds its files.
const (
	configDirectory = "/etc/envoy"
	tokenDirectory  = "/var/run/secrets/gatewright.dev/xds" //nolint:gosec // a path, not a credential
	adminDirectory  = "/run/envoy"
	adminSocket     = adminDirectory + "/admin.sock"

	bootstrapFile  = "bootstrap.json"
	tokenFile      = "sds-token.json" //nolint:gosec // a path, not a credential
	validationFile = "sds-validation.json"
)

// xdsCluster is the cluster of the control plane in the bootstrap.
const xdsCluster = "gatewright-xds"

// configFiles are the files that Envoy starts with. They hold no secret and are the same bytes for the same input.
func configFiles(gateway ir.Gateway, settings Settings) (map[string]string, error) {
	bootstrap, err := bootstrap(gateway, settings)
	if err != nil {
		return nil, err
	}
	messages := map[string]checkable{bootstrapFile: bootstrap}
	if gateway.Fleet.Delivery == ir.XDS {
		if messages[tokenFile], err = tokenSecret(); err != nil {
			return nil, err
		}
		if messages[validationFile], err = validationSecret(settings); err != nil {
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

// bootstrap lets Envoy find its configuration; everything else it is told there. Without a timeout of the first fetch Envoy
// opens no listener, and so is not ready, before it has its whole configuration.
func bootstrap(gateway ir.Gateway, settings Settings) (*bootstrapv3.Bootstrap, error) {
	dynamic, clusters, err := supply(gateway, settings)
	if err != nil {
		return nil, err
	}
	ready, err := readyListener(gateway, settings.Families)
	if err != nil {
		return nil, err
	}
	manager, err := overload(settings)
	if err != nil {
		return nil, err
	}
	if manager, err = protect(manager, gateway); err != nil {
		return nil, err
	}
	if !gateway.Fleet.Proxies.Metrics.Hidden && gateway.Fleet.Delivery != ir.Files {
		clusters = append(clusters, administration())
	}
	// The id is each pod's own and given on the command line. The control plane believes the token alone, and refuses what contradicts it.
	node, listeners := &corev3.Node{Cluster: gateway.Name.String()}, []*listenerv3.Listener{ready}
	if gateway.Fleet.Delivery == ir.XDS {
		if listeners, err = keepScopes(node, listeners); err != nil {
			return nil, err
		}
	}
	return &bootstrapv3.Bootstrap{
		Node: node,
		Admin: &bootstrapv3.Admin{Address: &corev3.Address{Address: &corev3.Address_Pipe{
			Pipe: &corev3.Pipe{Path: adminSocket, Mode: 0o600},
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

// maxRegexSize is what the resolver allows, and room for what Envoy counts differently. Envoy's default of 100 refuses a hostname of
// ordinary length in an expression, and with it the whole route table.
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

// adsConfig asks for deltas on one stream. It is opened again within two seconds of a control plane coming back, where Envoy's own
// default may wait for thirty.
func adsConfig() *corev3.ApiConfigSource {
	return &corev3.ApiConfigSource{
		ApiType:                   corev3.ApiConfigSource_DELTA_GRPC,
		TransportApiVersion:       corev3.ApiVersion_V3,
		SetNodeOnFirstMessageOnly: true,
		GrpcServices: []*corev3.GrpcService{{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
			EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{
				ClusterName: xdsCluster,
				RetryPolicy: &corev3.RetryPolicy{RetryBackOff: &corev3.BackoffStrategy{
					BaseInterval: durationpb.New(200 * time.Millisecond),
					MaxInterval:  durationpb.New(2 * time.Second),
				}},
			},
		}}},
	}
}

func fromADS() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		InitialFetchTimeout:   durationpb.New(0),
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}

// statsConfig keeps what tells the health of a proxy. Statistics of each backend cost memory for each of thousands of clusters, so they are
// kept for whoever asks for them.
func statsConfig(wanted ir.Metrics) *metricsv3.StatsConfig {
	var patterns []*matcherv3.StringMatcher
	prefixes := []string{
		"cluster." + xdsCluster + ".", "cluster_manager.", "control_plane.", "http.", "listener.", "listener_manager.", "main_thread.", "overload.", "server.", "tcp.", "udp.", "workers.",
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

// encode gives JSON with the names of Envoy's documentation. The protobuf library varies white space on purpose, so it is made anew.
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

// pack wraps a message; the bytes inside are the same each time.
func pack(message proto.Message) (*anypb.Any, error) {
	wrapped := &anypb.Any{}
	if err := anypb.MarshalFrom(wrapped, message, proto.MarshalOptions{Deterministic: true}); err != nil {
		return nil, fmt.Errorf("packing %s: %w", message.ProtoReflect().Descriptor().FullName(), err)
	}
	return wrapped, nil
}

// hashFiles changes when anything Envoy starts with does.
func hashFiles(files map[string]string) string {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(files[name]), files[name])
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}
