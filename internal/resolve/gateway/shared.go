package gateway

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// SharedFleet is the fleet that the Gateways of a class share.
type SharedFleet struct {
	// Serves says that there is a Gateway that it is for.
	Serves bool
	// Held says why it is left as it is, empty if it is not.
	Held string
	// Gateway is how it is run.
	Gateway ir.Gateway
}

// Shared is the fleet that so many Gateways of a class share.
func Shared(v *store.View, objects *store.Objects, classes *store.Table[ResolvedClass], tenants int, name string) SharedFleet {
	class, ok := objects.GatewayClasses.Get(v, name)
	resolved, _ := classes.Get(v, name)
	if !ok || !resolved.Ours || tenants == 0 {
		return SharedFleet{}
	}
	shared := SharedFleet{Serves: true, Held: resolved.Problem, Gateway: sharedFleet(objects, class)}
	if config, ok := objects.ProxyConfigs.Get(v, resolved.Parameters); ok {
		shared.Gateway.Fleet.Proxies, _ = proxies(config.Spec)
	}
	return shared
}

// sharedFleet is whose the objects are that run the proxies, and where.
func sharedFleet(objects *store.Objects, class *gwv1.GatewayClass) ir.Gateway {
	return ir.Gateway{
		Name: ir.SharedFleet(class.Name),
		Fleet: ir.Fleet{
			Name: ir.SharedFleetName(class.Name), Abroad: objects.System, Placed: objects.System, UID: string(class.UID), Class: class.Name,
			Installation: Installation(objects.Controller),
		},
	}
}

// withoutCertificate takes from a Gateway that shares its proxies the certificate that they would show to backends: connections to a
// backend are shared too, and must not be made in the name of one Gateway and used by another.
func (r *Resolved) withoutCertificate() {
	if r.Gateway.Fleet.Shared == (ir.Name{}) || r.ClientCertificate == "" {
		return
	}
	r.ClientCertificate = ""
	r.Conditions = notResolved(r.Conditions, &refs.Problem{
		Reason: string(gwv1.GatewayReasonInvalidClientCertificateRef),
		Message: fmt.Sprintf("spec.tls.backend.clientCertificateRef: the Gateways of class %s share their proxies, and with them the connections to backends, which are shown no "+
			"client certificate; use a class whose Gateways have proxies of their own", r.Gateway.Fleet.Class),
	})
}

// Tenant is what a Gateway needs of the fleet that it shares.
type Tenant struct {
	// Class is that of the fleet, empty for a Gateway with proxies of its own.
	Class string
	// Leaving says that it has proxies of its own by now, and that the others, which are on their way out, only see to those who still talk
	// to them.
	Leaving bool
	Ports   []TenantPort
}

// TenantPort is one port of a Gateway.
type TenantPort struct {
	ID string
	// Bound is where its Service leads to now, zero if nowhere.
	Bound int32
}

// TenantOf is what the Gateway needs, as far as it is known. One that has proxies of its own by now needs the shared ones as long as its
// Service leads there. The Service remembers which sockets it was given, so that they stay whoever comes and goes.
func TenantOf(v *store.View, objects *store.Objects, r Resolved) Tenant {
	if objects.System == "" || !r.Serves {
		return Tenant{}
	}
	there := r.Gateway
	placeAbroad(&there, objects.System)
	service, ok := objects.Services.Get(v, fleetKey(there))
	leads := ok && ownedBy(service, there) && leadsToShared(service, there.Fleet.Class)
	leaving := !leads && r.Gateway.Fleet.Shared == (ir.Name{})
	if leaving && (r.Held != "" || !sharedFleetExists(v, objects, there.Fleet.Class)) {
		return Tenant{}
	}
	tenant := Tenant{Class: there.Fleet.Class, Leaving: leaving}
	for _, port := range there.Ports {
		wanted := TenantPort{ID: port.ID()}
		if leads {
			wanted.Bound = boundBy(service, port)
		}
		tenant.Ports = append(tenant.Ports, wanted)
	}
	return tenant
}

// sharedFleetExists says whether the proxies that the Gateways of a class share are there, be it that they are ending.
func sharedFleetExists(v *store.View, objects *store.Objects, name string) bool {
	class, ok := objects.GatewayClasses.Get(v, name)
	if !ok {
		return false
	}
	shared := sharedFleet(objects, class)
	deployment, runs := objects.Deployments.Get(v, fleetKey(shared))
	daemons, alsoRuns := objects.DaemonSets.Get(v, fleetKey(shared))
	return runs && ownedBy(deployment, shared) || alsoRuns && ownedBy(daemons, shared)
}

// leadsToShared says whether the pods behind a Service are those that the Gateways of a class share.
func leadsToShared(service *corev1.Service, class string) bool {
	return service.Spec.Selector[ir.InstanceLabel] == ir.SharedFleetName(class)
}

func boundBy(service *corev1.Service, port ir.Port) int32 {
	for _, p := range service.Spec.Ports {
		if p.Port == port.Number && (p.Protocol == corev1.ProtocolUDP) == (port.Protocol == ir.UDP) {
			return p.TargetPort.IntVal
		}
	}
	return 0
}

// The sockets of a shared fleet: above those that programs commonly use and below those that the kernel gives to outgoing connections,
// which would keep a proxy from opening them.
const (
	firstSocket = 20000
	lastSocket  = 32767
	allSockets  = lastSocket - firstSocket + 1
)

// portsPerNamespace is how many of them the Gateways of a namespace have together unless the class says otherwise.
const portsPerNamespace = 1024

// Sockets gives each port of the tenants of a fleet, as `<gateway>|<port>`, a socket of its own. What a Service leads to stays; others
// have a place that follows from their name, or the next that is free. A port has none if there are none left, or if its namespace has as
// many as the quota allows.
func Sockets(tenants map[string]Tenant, quota int) map[string]int32 {
	given, taken, used := map[string]int32{}, map[int32]bool{}, map[string]int{}
	give := func(gateway, port string, socket int32) {
		given[gateway+"|"+port], taken[socket] = socket, true
		used[ir.ParseName(gateway).Namespace]++
	}
	type seeker struct{ gateway, port string }
	var seekers []seeker
	for _, gateway := range slices.Sorted(maps.Keys(tenants)) {
		for _, port := range tenants[gateway].Ports {
			if port.Bound >= firstSocket && port.Bound <= lastSocket && !taken[port.Bound] {
				give(gateway, port.ID, port.Bound)
			} else {
				seekers = append(seekers, seeker{gateway, port.ID})
			}
		}
	}
	for _, s := range seekers {
		if len(taken) < allSockets && used[ir.ParseName(s.gateway).Namespace] < quota {
			give(s.gateway, s.port, freeSocket(s.gateway+"|"+s.port, taken))
		}
	}
	return given
}

// freeSocket is the one that follows from a name, or the next that is free.
func freeSocket(name string, taken map[int32]bool) int32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	offset := hash.Sum32() % allSockets
	for taken[firstSocket+int32(offset)] {
		offset = (offset + 1) % allSockets
	}
	return firstSocket + int32(offset)
}

// Bind has a Gateway's ports lead to the sockets they were given, and says so if one was given none.
func (r Resolved) Bind(socket func(port string) int32, quota int) Resolved {
	r.Gateway.Ports = slices.Clone(r.Gateway.Ports)
	for i := range r.Gateway.Ports {
		port := &r.Gateway.Ports[i]
		if port.Bound = socket(port.ID()); port.Bound == 0 {
			return r.Hold(fmt.Sprintf("port %s finds no free socket on the proxies that class %s shares: they have %d, of which the Gateways of one namespace can have %d together; "+
				"use fewer ports, or another class", port.ID(), r.Gateway.Fleet.Class, allSockets, quota))
		}
	}
	return r
}
