package xds

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// versionBytes is how much of a SHA-256 a version keeps: enough that two contents never share one.
const versionBytes = 16

// Resource is the content of one Envoy resource, marshalled once however many proxies it goes to. It never changes.
type Resource struct {
	version string
	body    *anypb.Any
}

// NewResource marshals a message. It fails only for a message that has no wire format, such as one with text that is not UTF-8.
func NewResource(message proto.Message) (*Resource, error) {
	body := &anypb.Any{}
	if err := anypb.MarshalFrom(body, message, proto.MarshalOptions{Deterministic: true}); err != nil {
		return nil, fmt.Errorf("marshal %s: %w", message.ProtoReflect().Descriptor().FullName(), err)
	}
	sum := sha256.Sum256(body.GetValue())
	return &Resource{version: hex.EncodeToString(sum[:versionBytes]), body: body}, nil
}

// Version is derived from the content alone, so it is the same in every replica and after a restart.
func (r *Resource) Version() string { return r.version }

// versioned is a resource under its name, ready to be put into a response.
type versioned interface {
	Version() string
	// wire may be slow the first time, and is called without any lock. The result is shared and must not be changed.
	wire() *discoveryv3.Resource
}

// named is a Resource under a name.
type named struct {
	envelope *discoveryv3.Resource
	// endpoints is the name of the assignment a Cluster uses, if any.
	endpoints string
	// tables and secrets are what a Listener asks for before it serves.
	tables, secrets []string
	// scopes says that a Listener looks for its virtual hosts in scopes.
	scopes bool
	// host is the virtual host that a Scope is made of, with its domain and the header of its table.
	host *scopedHost

	// taken says that a proxy has acknowledged it.
	taken atomic.Bool
	// good is the last one before it that a proxy has acknowledged; refused says that this is what proxies get, since one refused it and none took it.
	// Both belong to the group.
	good    *named
	refused bool
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

func newNamed(name string, r *Resource) *named {
	return &named{envelope: &discoveryv3.Resource{Name: name, Version: r.version, Resource: r.body}}
}

// Version of a resource that does not exist is empty.
func (n *named) Version() string {
	if n == nil {
		return ""
	}
	return n.envelope.GetVersion()
}

func (n *named) wire() *discoveryv3.Resource { return n.envelope }
