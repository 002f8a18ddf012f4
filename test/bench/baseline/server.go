package baseline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// chunk is how many resources go into one response.
const chunk = 2000

// Resource is something with a name that a proxy is told.
type Resource struct {
	Name    string
	Message proto.Message
}

// Server tells each connected proxy everything, and every change at once, without waiting for anything.
type Server struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer

	mu sync.Mutex
	// resources by type and name.
	resources map[string]map[string]*discoveryv3.Resource
	streams   map[*stream]bool
	version   int
	nack      error
}

// Start serves on a listener until the context ends.
func Start(ctx context.Context, listener net.Listener) *Server {
	s := &Server{resources: map[string]map[string]*discoveryv3.Resource{}, streams: map[*stream]bool{}}
	server := grpc.NewServer(grpc.MaxSendMsgSize(math.MaxInt32), grpc.MaxRecvMsgSize(math.MaxInt32))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	context.AfterFunc(ctx, server.Stop)
	return s
}

// Set changes resources of one type, and pushes them.
func (s *Server) Set(resources ...Resource) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	changed := map[string][]*discoveryv3.Resource{}
	for _, r := range resources {
		body, err := anypb.New(r.Message)
		if err != nil {
			return fmt.Errorf("encode %s: %w", r.Name, err)
		}
		t := body.GetTypeUrl()
		if s.resources[t] == nil {
			s.resources[t] = map[string]*discoveryv3.Resource{}
		}
		s.resources[t][r.Name] = &discoveryv3.Resource{Name: r.Name, Version: strconv.Itoa(s.version), Resource: body}
		changed[t] = append(changed[t], s.resources[t][r.Name])
	}
	for t, all := range changed {
		for st := range s.streams {
			if err := st.push(t, all, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// Remove removes a resource that is like the message.
func (s *Server) Remove(like proto.Message, name string) error {
	body, err := anypb.New(like)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.resources[body.GetTypeUrl()], name)
	for st := range s.streams {
		if err := st.push(body.GetTypeUrl(), nil, []string{name}); err != nil {
			return err
		}
	}
	return nil
}

// NACK is the error of a proxy's NACK, if there was one.
func (s *Server) NACK() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nack
}

// stream is one proxy. Its fields are guarded by the server's lock.
type stream struct {
	discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer
	// asked has the types that were asked for, with names, or none for all.
	asked map[string][]string
	nonce int
}

// DeltaAggregatedResources implements the service.
func (s *Server) DeltaAggregatedResources(connection discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	st := &stream{AggregatedDiscoveryService_DeltaAggregatedResourcesServer: connection, asked: map[string][]string{}}
	s.mu.Lock()
	s.streams[st] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.streams, st)
	}()
	for {
		request, err := connection.Recv()
		if err != nil {
			return err //nolint:wrapcheck // the proxy has gone
		}
		if err := s.answer(st, request); err != nil {
			return err
		}
	}
}

func (s *Server) answer(st *stream, request *discoveryv3.DeltaDiscoveryRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := request.GetTypeUrl()
	if detail := request.GetErrorDetail(); detail != nil {
		s.nack = errors.Join(s.nack, fmt.Errorf("%s: %s", t, detail.GetMessage()))
	}
	names, known := st.asked[t]
	fresh := request.GetResourceNamesSubscribe()
	if known && len(fresh) == 0 {
		return nil // an acknowledgement
	}
	st.asked[t] = append(names, fresh...)
	var wanted []*discoveryv3.Resource
	for name, r := range s.resources[t] {
		if len(fresh) == 0 || slices.Contains(fresh, name) {
			wanted = append(wanted, r)
		}
	}
	return st.send(t, wanted, nil)
}

// push sends what was asked for.
func (st *stream) push(t string, resources []*discoveryv3.Resource, removed []string) error {
	names, asked := st.asked[t]
	if !asked {
		return nil
	}
	if len(names) > 0 {
		resources = slices.DeleteFunc(slices.Clone(resources), func(r *discoveryv3.Resource) bool { return !slices.Contains(names, r.GetName()) })
	}
	return st.send(t, resources, removed)
}

func (st *stream) send(t string, resources []*discoveryv3.Resource, removed []string) error {
	for {
		part := resources[:min(len(resources), chunk)]
		resources = resources[len(part):]
		st.nonce++
		if err := st.Send(&discoveryv3.DeltaDiscoveryResponse{
			TypeUrl: t, Resources: part, RemovedResources: removed, Nonce: strconv.Itoa(st.nonce),
		}); err != nil {
			return fmt.Errorf("send to a proxy: %w", err)
		}
		if len(resources) == 0 {
			return nil
		}
	}
}
