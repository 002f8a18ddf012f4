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

// versionBytes is how much of a SHA-256 a version keeps: enough that two contents never share one.
const versionBytes = 16

// Resource is the content of one Envoy resource, marshalled once however many proxies it goes to. It never changes.
type Resource struct {
	version string
	typeURL string
	value   []byte
	// local is what proxies in some places get instead, nil for none.
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
	return &Resource{version: hex.EncodeToString(sum[:versionBytes]), typeURL: unique.Make(typePrefix + string(name)).Value(), value: value}, nil
}

const typePrefix = "type.googleapis.com/"

// Version is derived from the content alone, so it is the same in every replica and after a restart.
func (r *Resource) Version() string { return r.version }

func (r *Resource) body(string) *anypb.Any { return &anypb.Any{TypeUrl: r.typeURL, Value: r.value} }

func (r *Resource) bytes() int { return len(r.value) }

// read is the opposite of [NewResource].
func (r *Resource) read(into proto.Message) error { return proto.Unmarshal(r.value, into) }

// versioned is a resource under its name, ready to be put into a response.
type versioned interface {
	Version() string
	// label is its name.
	label() string
	// size is about how many bytes it has on the wire.
	size() int
	// wire may be slow the first time, and is called without any lock. The result is shared and must not be changed.
	wire() *discoveryv3.Resource
}

// content is what a resource says under its name: a Resource, or a scope, which is put together whenever it is sent.
type content interface {
	Version() string
	body(name string) *anypb.Any
	bytes() int
}

// named is content under a name.
type named struct {
	name string
	content
	// endpoints is the name of the assignment a Cluster uses, if any.
	endpoints string
	// needs is what a Listener asks for before it serves.
	needs *needs

	// taken says that a proxy has acknowledged it.
	taken atomic.Bool
	// good is the last one before it that a proxy has acknowledged; refused says that this is what proxies get, since one refused it and
	// none took it. Both belong to the group.
	good    *named
	refused bool
}

// needs is what a Listener asks for before it serves: route tables and secrets, and, if it looks for its virtual hosts there, scopes.
type needs struct {
	tables, secrets []string
	scopes          bool
}

// seen is what proxies get, nil if nothing.
func (n *named) seen() *named {
	if n != nil && n.refused {
		return n.good
	}
	return n
}

// lastGood is what to fall back to when whatever replaces it is refused. It holds on to nothing older.
func (n *named) lastGood() *named {
	switch {
	case n == nil:
		return nil
	case n.taken.Load():
		n.good = nil
		return n
	default:
		return n.good
	}
}

// Version of a resource that does not exist is empty.
func (n *named) Version() string {
	if n == nil {
		return ""
	}
	return n.content.Version()
}

func (n *named) label() string { return n.name }

func (n *named) size() int { return envelope + len(n.name) + n.bytes() }

func (n *named) wire() *discoveryv3.Resource {
	return &discoveryv3.Resource{Name: n.name, Version: n.Version(), Resource: n.body(n.name)}
}
