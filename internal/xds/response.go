package xds

import (
	"context"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

// response is a response of one type to one stream. Its content is fixed when it is made, under the stream's lock. The stream's own
// goroutine assembles its bytes when it sends it.
type response struct {
	delivery
	typ       Type
	resources []versioned
	removed   []string
	salt      string
	// before has the versions that were sent last of what it changes or removes.
	before map[string]string
	// owed reports that the proxy waits for it, even if it is empty.
	owed bool
}

var _ cachev3.DeltaResponse = (*response)(nil)

func newResponse(t Type) *response {
	return &response{typ: t, delivery: delivery{versions: map[string]string{}}, before: map[string]string{}}
}

func (r *response) add(name string, resource versioned) {
	r.versions[name] = resource.Version()
	r.resources = append(r.resources, resource)
	switch resource := resource.(type) {
	case *namedResource:
		r.named = append(r.named, resource)
	case *composedTable:
		if r.tables == nil {
			r.tables = map[string]tableParts{}
		}
		r.tables[name] = resource.tableParts
	}
}

func (r *response) remove(name string) {
	r.versions[name] = ""
	r.removed = append(r.removed, name)
}

// forget has NACKed versions, which the response replaces, not count as sent if it is taken back.
func (r *response) forget(nacked map[string]string) {
	for name, version := range nacked {
		if before, replaces := r.before[name]; replaces && before == version {
			r.before[name] = ""
		}
	}
}

// GetDeltaDiscoveryResponse is called once, by the stream, immediately before sending.
func (r *response) GetDeltaDiscoveryResponse() (*discoveryv3.DeltaDiscoveryResponse, error) {
	message := &discoveryv3.DeltaDiscoveryResponse{
		TypeUrl:          typeURLs[r.typ],
		Resources:        make([]*discoveryv3.Resource, 0, len(r.resources)),
		RemovedResources: slices.Sorted(slices.Values(r.removed)),
	}
	for _, resource := range r.resources {
		message.Resources = append(message.Resources, salted(r.typ, resource.wire(), r.salt))
	}
	// The delivery is kept until the proxy answers, the bytes are not.
	r.resources = nil
	return message, nil
}

// GetDeltaRequest returns the type that is answered, the only part that the protocol uses.
func (r *response) GetDeltaRequest() *discoveryv3.DeltaDiscoveryRequest {
	return &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURLs[r.typ]}
}

// GetReturnedResources is empty: the subscription has what a proxy holds, so it is not copied for each response.
func (r *response) GetReturnedResources() map[string]string { return map[string]string{} }

// GetNextVersionMap is the former name of GetReturnedResources.
func (r *response) GetNextVersionMap() map[string]string { return r.GetReturnedResources() }

// GetResponseVersion is empty: versions belong to resources.
func (r *response) GetResponseVersion() string { return "" }

// GetSystemVersion is the former name of GetResponseVersion.
func (r *response) GetSystemVersion() (string, error) { return "", nil }

// GetContext is not used by the protocol.
func (r *response) GetContext() context.Context { return context.Background() }
