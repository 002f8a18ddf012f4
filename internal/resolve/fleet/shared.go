package fleet

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/proxyconfig"
	"github.com/gatewright/gatewright/internal/store"
)

// SharedFleet is the fleet that the Gateways of a class share.
type SharedFleet struct {
	// Serves reports whether a Gateway uses it.
	Serves bool
	// Frozen says why the fleet stays as it is, empty if it does not.
	Frozen string
	// Gateway is how it runs.
	Gateway ir.Gateway
}

// Shared resolves the fleet that this number of Gateways of a class share.
func Shared(v *store.View, objects *store.Objects, classes *store.Table[class.Resolved], tenants int, name string) SharedFleet {
	gatewayClass, ok := objects.GatewayClasses.Get(v, name)
	resolved, _ := classes.Get(v, name)
	if !ok || !resolved.Ours || tenants == 0 {
		return SharedFleet{}
	}
	shared := SharedFleet{Serves: true, Frozen: resolved.Problem, Gateway: sharedFleet(objects, gatewayClass)}
	if config, ok := objects.ProxyConfigs.Get(v, resolved.Parameters); ok {
		shared.Gateway.Fleet.Proxies, _ = proxyconfig.Proxies(config.Spec)
	}
	return shared
}

// sharedFleet returns the owner and the place of the objects of a shared fleet.
func sharedFleet(objects *store.Objects, owner *gwv1.GatewayClass) ir.Gateway {
	return ir.Gateway{
		Name: ir.SharedFleet(owner.Name),
		Fleet: ir.Fleet{
			Name: ir.SharedFleetName(owner.Name), OtherNamespace: objects.System, Placed: objects.System, UID: string(owner.UID), Class: owner.Name,
			Installation: class.Installation(objects.Controller),
		},
	}
}

// Tenant is what a Gateway needs of the fleet that it shares.
type Tenant struct {
	// Class is that of the fleet, empty for a Gateway with proxies of its own.
	Class string
	// Leaving is set for a Gateway that has proxies of its own by now. The shared proxies only serve connections that are still open.
	Leaving bool
	Ports   []TenantPort
}

// TenantPort is one port of a Gateway.
type TenantPort struct {
	ID string
	// TargetPort is the target port of its Service now, zero for none.
	TargetPort int32
}

// TenantOf returns the ports that a Gateway needs on the shared fleet of its class. A Gateway with a fleet of its own needs the shared
// one until its Service stops selecting it. The Service records the sockets of its ports, so they stay while tenants come and go.
func TenantOf(v *store.View, objects *store.Objects, gateway ir.Gateway, frozen bool) Tenant {
	if objects.System == "" {
		return Tenant{}
	}
	there := gateway
	placeInSystemNamespace(&there, objects.System)
	service, ok := objects.Services.Get(v, Key(there))
	leads := ok && ownedBy(service, there) && servedByShared(service, there.Fleet.Class)
	leaving := !leads && gateway.Fleet.Shared == (ir.Name{})
	if leaving && (frozen || !sharedFleetExists(v, objects, there.Fleet.Class)) {
		return Tenant{}
	}
	tenant := Tenant{Class: there.Fleet.Class, Leaving: leaving}
	for _, port := range there.Ports {
		wanted := TenantPort{ID: port.ID()}
		if leads {
			wanted.TargetPort = boundBy(service, port)
		}
		tenant.Ports = append(tenant.Ports, wanted)
	}
	return tenant
}

// sharedFleetExists reports whether the class's shared fleet exists, including while it terminates.
func sharedFleetExists(v *store.View, objects *store.Objects, name string) bool {
	owner, ok := objects.GatewayClasses.Get(v, name)
	if !ok {
		return false
	}
	shared := sharedFleet(objects, owner)
	deployment, runs := objects.Deployments.Get(v, Key(shared))
	daemons, alsoRuns := objects.DaemonSets.Get(v, Key(shared))
	return runs && ownedBy(deployment, shared) || alsoRuns && ownedBy(daemons, shared)
}

// servedByShared reports whether a Service selects the pods of the class's shared fleet.
func servedByShared(service *corev1.Service, class string) bool {
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

// The target ports of a shared fleet: above those that programs commonly use, and below those that the kernel uses for outgoing
// connections, which a proxy could not open.
const (
	firstPort = 20000
	lastPort  = 32767
	allPorts  = lastPort - firstPort + 1
)

// AllocatePorts assigns each port of the tenants of a fleet a target port of its own. The target port of a Service stays. Others follow
// from the name of the port, or are the next free one. A port has none if no target port is free, or if its namespace has used its
// quota.
func AllocatePorts(tenants map[string]Tenant, quota int) map[ir.PortID]int32 {
	given, taken, used := map[ir.PortID]int32{}, map[int32]bool{}, map[string]int{}
	give := func(port ir.PortID, target int32) {
		given[port], taken[target] = target, true
		used[ir.ParseName(port.Gateway).Namespace]++
	}
	var seekers []ir.PortID
	for _, gateway := range slices.Sorted(maps.Keys(tenants)) {
		for _, port := range tenants[gateway].Ports {
			if port.TargetPort >= firstPort && port.TargetPort <= lastPort && !taken[port.TargetPort] {
				give(ir.PortID{Gateway: gateway, Port: port.ID}, port.TargetPort)
			} else {
				seekers = append(seekers, ir.PortID{Gateway: gateway, Port: port.ID})
			}
		}
	}
	for _, s := range seekers {
		if len(taken) < allPorts && used[ir.ParseName(s.Gateway).Namespace] < quota {
			give(s, freePort(s.String(), taken))
		}
	}
	return given
}

// freePort returns the target port that follows from a name, or the next free one.
func freePort(name string, taken map[int32]bool) int32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	offset := hash.Sum32() % allPorts
	for taken[firstPort+int32(offset)] {
		offset = (offset + 1) % allPorts
	}
	return firstPort + int32(offset)
}

// Bind sets the target ports of a Gateway's ports. It returns a message if one of them has none.
func Bind(gateway ir.Gateway, target func(port string) int32, quota int) (ir.Gateway, string) {
	gateway.Ports = slices.Clone(gateway.Ports)
	for i := range gateway.Ports {
		port := &gateway.Ports[i]
		if port.TargetPort = target(port.ID()); port.TargetPort == 0 {
			return gateway, fmt.Sprintf("port %s finds no free socket on the proxies that class %s shares: they have %d, of which the Gateways of "+
				"one namespace can have %d together; use fewer ports, or another class", port.ID(), gateway.Fleet.Class, allPorts, quota)
		}
	}
	return gateway, ""
}
