package fleet

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// maxMessage is how many bytes of a condition message of a workload are repeated.
const maxMessage = 1024

// notStarting says why no proxy of a fleet is available, as far as the status of the workload shows. Other causes, such as an image that
// cannot be pulled, are in the events of the pods. Gatewright does not watch events, so it needs no permission for them.
func notStarting(v *store.View, objects *store.Objects, running ir.Gateway, kind store.Kind) string {
	key := Key(running)
	look := fmt.Sprintf("see the events of its pods: kubectl -n %s describe pods -l %s=%s",
		running.FleetNamespace(), ir.InstanceLabel, running.Fleet.Name)
	message := fmt.Sprintf("no proxy of %s %s is available yet", kind, key)
	deployment, runs := objects.Deployments.Get(v, key)
	daemons, alsoRuns := objects.DaemonSets.Get(v, key)
	switch {
	case runs && ownedBy(deployment, running):
		if why := blocked(deployment.Status.Conditions); why != "" {
			return fmt.Sprintf("%s: %s; %s", message, strings.TrimSuffix(strings.ToValidUTF8(why[:min(len(why), maxMessage)], ""), "."), look)
		}
		if deployment.Spec.Replicas != nil && *deployment.Spec.Replicas == 0 {
			return message + ": it is scaled to 0 replicas; scale it up"
		}
	case alsoRuns && ownedBy(daemons, running):
		if daemons.Status.ObservedGeneration > 0 && daemons.Status.DesiredNumberScheduled == 0 {
			return message + ": no node may run it; see nodeSelector, affinity and tolerations of the ProxyConfig"
		}
	default:
		return message + ": it does not exist yet"
	}
	return message + "; " + look
}

// blocked returns the message of the condition that keeps a Deployment from creating its pods, empty if there is none.
func blocked(conditions []appsv1.DeploymentCondition) string {
	why := ""
	for _, c := range conditions {
		switch {
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			// A quota, or an admission webhook.
			return c.Message
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse:
			why = c.Message
		}
	}
	return why
}
