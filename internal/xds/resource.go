package xds

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"unique"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// versionBytes is the number of bytes of a SHA-256 in a version: enough that two contents never share one.
const versionBytes = 16

// Resource is the content of one Envoy resource, marshalled once for all proxies. It never changes.
type Resource struct {
	version string
	typeURL string
	value   []byte
	// local are the variants for some places, nil for none.
	local *local
}

// NewResource marshals a message. It fails only for a message that has no wire format, such as one with text that is not UTF-8.
func NewResource(message proto.Message) (*Resource, error) {
	name := message.ProtoReflect().Descriptor().FullName()
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("marshal %s: %w", name, err)
	}
	sum := sha256.Sum256(value)
	typeURL := unique.Make(typePrefix + string(name)).Value()
	return &Resource{version: hex.EncodeToString(sum[:versionBytes]), typeURL: typeURL, value: value}, nil
}

const typePrefix = "type.googleapis.com/"

// Version is derived from the content alone, so it is the same in every replica and after a restart.
func (r *Resource) Version() string { return r.version }

func (r *Resource) body(string) *anypb.Any { return &anypb.Any{TypeUrl: r.typeURL, Value: r.value} }

func (r *Resource) bytes() int { return len(r.value) }

// Bytes is the size of the content.
func (r *Resource) Bytes() int { return len(r.value) }

// versioned is a resource with its name, ready for a response.
type versioned interface {
	Version() string
	// label is its name.
	label() string
	// size is the approximate number of bytes on the wire.
	size() int
	// wire may be slow the first time, and is called without any lock. The result is shared and must not be changed.
	wire() *discoveryv3.Resource
}

// content is the content of a resource without its name: a Resource, or a scope, which is assembled when it is sent.
type content interface {
	Version() string
	body(name string) *anypb.Any
	bytes() int
}

// namedResource is content with a name.
type namedResource struct {
	name string
	content
	// endpoints is the name of the load assignment of a Cluster, if any.
	endpoints string
	// needs is what a Listener requests before it serves.
	needs *needs
	// origins name the objects that the content comes from.
	origins []string

	// acked reports that a proxy has acknowledged it.
	acked atomic.Bool
	// good is the last version before it that a proxy has acknowledged. nacked reports that proxies get that one, because one NACKed this
	// version and none acknowledged it. Both belong to the group.
	good   *namedResource
	nacked bool
}

// needs is what a Listener requests before it serves: route tables, secrets, and scopes if it finds its virtual hosts there.
type needs struct {
	tables, secrets []string
	scopes          bool
}

// effective returns what proxies get, nil if nothing.
func (n *namedResource) effective() *namedResource {
	if n != nil && n.nacked {
		return n.good
	}
	return n
}

// lastGood returns the version to fall back to if the next one is NACKed. It drops older ones.
func (n *namedResource) lastGood() *namedResource {
	switch {
	case n == nil:
		return nil
	case n.acked.Load():
		n.good = nil
		return n
	default:
		return n.good
	}
}

// Version of a resource that does not exist is empty.
func (n *namedResource) Version() string {
	if n == nil {
		return ""
	}
	return n.content.Version()
}

func (n *namedResource) label() string { return n.name }

func (n *namedResource) size() int { return envelope + len(n.name) + n.bytes() }

func (n *namedResource) wire() *discoveryv3.Resource {
	return &discoveryv3.Resource{Name: n.name, Version: n.Version(), Resource: n.body(n.name)}
}
