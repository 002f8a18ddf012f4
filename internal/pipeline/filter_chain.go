package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/store"
	listenertranslate "github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/translate/wire"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	stageChain       = "chain"
	stageFilterChain = "translate filter chain"
)

// portChain is a chain whose connections are chosen by name, and what it has from its port. It is empty if that is not known.
type portChain struct {
	// port has no chains, and nothing that depends on the socket.
	port  ir.Port
	chain ir.Chain
	// shared says that shared proxies serve the port.
	shared bool
}

// filterChain is a chain of a port as dedicated proxies get it, and as shared ones do. Without a version it is not valid, for this reason.
type filterChain struct {
	own, shared     []*listenerv3.FilterChain
	version, reason string
}

func sameFilterChain(a, b filterChain) bool { return a.version == b.version && a.reason == b.reason }

// addFilterChainStages adds the stages that make the filter chains of ports where several listeners have one each. Each is validated by
// itself, so that no listener holds back the changes of others, and an edit of one does not translate the others.
func (g *graph) addFilterChainStages() {
	byChain := typed[ir.ChainID](store.NewIndexOf(g.ports.Table, "port.byChain", chainsOf))
	// What was there before may lack a guard that was added since.
	chains := memo.DeriveOf(g.memo, stageChain, ir.ParseChainID, byChain, deepEqual[portChain], g.portChain,
		memo.OnPanic(func(*store.View, string, portChain, string) portChain { return portChain{} }))
	g.listenerRoom = g.addListenerBudgetStages(byChain, chains)
	g.filterChains = memo.DeriveOf(g.memo, stageFilterChain, ir.ParseChainID, byChain, sameFilterChain,
		func(v *store.View, id ir.ChainID) filterChain {
			if g.listenerRoom.place(v, id) != limits.Served {
				return filterChain{}
			}
			in, _ := chains.Get(v, id)
			tracing, _ := g.tracing.Get(v, id.Port.Gateway)
			return in.translate(id, tracing)
		},
		memo.OnPanic(func(_ *store.View, _ string, _ filterChain, reason string) filterChain {
			return filterChain{reason: reason}
		}))
}

// chainsOf are the chains of a port where several listeners have one each.
func chainsOf(key string, port ir.Port) []ir.ChainID {
	if !port.Protocol.ChoosesByName() {
		return nil
	}
	ids := make([]ir.ChainID, 0, len(port.Chains))
	for i := range port.Chains {
		ids = append(ids, ir.ChainID{Port: ir.ParsePortID(key), Chain: port.Chains[i].Name})
	}
	return ids
}

func (g *graph) portChain(v *store.View, id ir.ChainID) portChain {
	port, _ := g.ports.Get(v, id.Port)
	i, found := slices.BinarySearchFunc(port.Chains, id.Chain, func(c ir.Chain, name string) int { return cmp.Compare(c.Name, name) })
	if !found {
		return portChain{}
	}
	socket, _ := g.shared.sockets.Get(v, id.Port)
	in := portChain{port: port, chain: port.Chains[i], shared: socket != 0}
	in.port.Chains, in.port.Accept = nil, nil
	return in
}

func (in portChain) translate(id ir.ChainID, tracing *ir.Tracing) filterChain {
	if in.chain.Name == "" {
		return filterChain{reason: "it is not known"}
	}
	var made filterChain
	build := func(port ir.Port) []*listenerv3.FilterChain {
		part, err := in.build(port, tracing)
		var r *xds.Resource
		if err == nil {
			r, err = xds.NewResource(part)
		}
		if err != nil {
			made.reason = err.Error()
			return nil
		}
		made.version += r.Version()
		return part.GetFilterChains()
	}
	made.own = build(in.port)
	if in.shared {
		in.port.LoggedAs = id.Port.Gateway
		made.shared = build(in.port)
	}
	if made.reason != "" {
		return filterChain{reason: made.reason}
	}
	return made
}

// build makes the filter chains as part of a listener that has nothing else.
func (in portChain) build(port ir.Port, tracing *ir.Tracing) (*listenerv3.Listener, error) {
	return wire.Build(func() *listenerv3.Listener {
		return &listenerv3.Listener{FilterChains: listenertranslate.FilterChains(port, in.chain, tracing)}
	})
}

// servedPort is a port as proxies get it, and the chains that are not valid. Such a chain closes its connections, as one beyond a limit
// does. Over QUIC it is left out, because nothing but requests is served there, and those that come by a wider chain are refused.
func (g *graph) servedPort(v *store.View, id ir.PortID) (served ir.Port, invalid []wire.ValidationError) {
	port, _ := g.ports.Get(v, id)
	if !port.Protocol.ChoosesByName() {
		return port, nil
	}
	chains := make([]ir.Chain, 0, len(port.Chains))
	for i := range port.Chains {
		chain := port.Chains[i]
		chainID := ir.ChainID{Port: id, Chain: chain.Name}
		if place := g.listenerRoom.place(v, chainID); place != limits.Served {
			if port.Protocol != ir.QUIC && place == limits.Closed {
				chains = append(chains, chain.Closed())
			}
			continue
		}
		made, _ := g.filterChains.Get(v, chainID)
		if made.version == "" {
			invalid = append(invalid, wire.ValidationError{Owner: chain.Name, Reason: made.reason})
			if port.Protocol == ir.QUIC {
				continue
			}
			chain = chain.Closed()
		}
		chains = append(chains, chain)
	}
	port.Chains = chains
	return port, invalid
}

// listener is what proxies do at a port of a Gateway; change adds what only some proxies know, and of has their filter chains. What is not
// valid of the port itself, or of its only chain, concerns all its listeners: proxies keep the version they have.
func (g *graph) listener(
	v *store.View, id ir.PortID, change func(*ir.Port), of func(filterChain) []*listenerv3.FilterChain,
) translation {
	port, invalid := g.servedPort(v, id)
	if len(port.Chains)+len(invalid) == 0 {
		return translation{}
	}
	change(&port)
	name := ir.ParseName(id.Gateway)
	tracing, _ := g.tracing.Get(v, id.Gateway)
	t := checked(func() *listenerv3.Listener {
		if !port.Protocol.ChoosesByName() {
			return listenertranslate.Bind(listenertranslate.Listener(name, port, tracing), g.families)
		}
		if len(invalid) > 0 {
			whole, _ := g.ports.Get(v, id)
			change(&whole)
			listenertranslate.CheckShared(whole, tracing)
		}
		var chains []*listenerv3.FilterChain
		var closed []string
		for _, chain := range port.Chains {
			chainID := ir.ChainID{Port: id, Chain: chain.Name}
			made, _ := g.filterChains.Get(v, chainID)
			switch {
			case made.version != "":
				chains = append(chains, of(made)...)
			case chain.ServerName != "" && g.listenerRoom.place(v, chainID) != limits.Served:
				closed = append(closed, chain.ServerName)
			default:
				chains = append(chains, listenertranslate.FilterChains(port, chain, nil)...)
			}
		}
		if len(closed) > 0 {
			chains = append(chains, listenertranslate.ClosedNames(port, closed))
		}
		return listenertranslate.Bind(listenertranslate.WithChains(name, port, chains), g.families)
	})
	if t.resource == nil {
		return t
	}
	if t.invalid = invalid; len(port.Chains) == 0 {
		t.resource = nil
	}
	return t
}

// chainMessage is what is reported about a chain that is not valid.
func chainMessage(protocol ir.Protocol, reason string) string {
	closed := "it closes connections"
	if protocol == ir.QUIC {
		closed = "there is no HTTP/3"
	}
	reason, _, _ = strings.Cut(reason, "\n")
	return fmt.Sprintf("proxies would reject it, so that %s: %s. This is a bug: please report it, and change the object to get around it",
		closed, reason)
}

// noticeChains adds notices for what the chains of a port that are not valid are made of: policies, routes that have the connections of one
// name, and listeners of which no chain is left. Without HTTP/3 a listener and its routes are served as before.
func (g *graph) noticeChains(all notices, id ir.PortID, invalid []wire.ValidationError) {
	port, _ := g.ports.Get(nil, id)
	texts := map[string]closedText{}
	for _, part := range invalid {
		if part.Owner != "" {
			message := chainMessage(port.Protocol, part.Reason)
			texts[part.Owner] = closedText{route: message, listener: message}
		}
	}
	for i := range port.Chains {
		if text, closed := texts[port.Chains[i].Name]; closed {
			for _, origin := range port.Chains[i].Client().Origins {
				all.add(subject{store.Kind(origin.Kind), origin.Name.String()}, id.Gateway, nil, text.listener)
			}
		}
	}
	if port.Protocol != ir.QUIC {
		g.noticeClosed(all, id, texts)
	}
}

// noticeClosed adds notices for what the closed chains of a port serve: routes that have the connections of one name, and listeners of
// which no chain is left.
func (g *graph) noticeClosed(all notices, id ir.PortID, texts map[string]closedText) {
	port, _ := g.ports.Get(nil, id)
	byListener, served := map[string][]string{}, map[string]bool{}
	for i := range port.Chains {
		chain := &port.Chains[i]
		listener := cmp.Or(chain.Listener, chain.Name)
		text, closed := texts[chain.Name]
		if !closed {
			served[listener] = served[listener] || chain.Stream != nil || !chain.RouteTable.IsZero()
			continue
		}
		if chain.Stream != nil && chain.Stream.Route != "" {
			kind, name := store.SplitKindKey(chain.Stream.Route)
			all.add(subject{kind, name}, id.Gateway, nil, text.route)
		}
		if !slices.Contains(byListener[listener], text.listener) {
			byListener[listener] = append(byListener[listener], text.listener)
		}
	}
	resolved, _ := g.gateways.Get(nil, id.Gateway)
	for i := range resolved.Listeners {
		l := &resolved.Listeners[i]
		owner := l.Owner(id.Gateway)
		for _, message := range byListener[l.ID] {
			if !served[l.ID] {
				all.add(subject{owner.Kind, owner.Key}, id.Gateway, []string{l.Name}, message)
			}
		}
	}
}
