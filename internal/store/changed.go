package store

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// compare adapts a comparison to the objects an informer hands out. An update that replaced the object by another of its name always
// counts, and so does one of an object that was read without its type.
func compare[V Object](changed func(before, after V) bool) func(before, after Object) bool {
	return func(before, after Object) bool {
		b, fine := before.(V)
		a, good := after.(V)
		return !fine || !good || Replaced(before, after) || changed(b, a)
	}
}

// changedGeneration is for kinds whose specification has a generation. Generations begin anew when an object is replaced.
func changedGeneration(before, after Object) bool {
	return Replaced(before, after) || before.GetGeneration() != after.GetGeneration() || changedMetadata(before, after)
}

// Replaced says that the object was deleted and made again while the watch was interrupted.
func Replaced(before, after metav1.Object) bool { return before.GetUID() != after.GetUID() }

func changedMetadata(before, after metav1.Object) bool {
	return !maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp())
}

func changedNamespace(before, after *corev1.Namespace) bool {
	return !maps.Equal(before.Labels, after.Labels)
}

func changedService(before, after *corev1.Service) bool {
	return changedMetadata(before, after) ||
		!equality.Semantic.DeepEqual(before.Spec, after.Spec) ||
		!equality.Semantic.DeepEqual(before.Status.LoadBalancer, after.Status.LoadBalancer)
}

func changedSecret(before, after *corev1.Secret) bool {
	return before.Type != after.Type || policyData(before.Labels) != policyData(after.Labels) ||
		!equality.Semantic.DeepEqual(before.Data, after.Data)
}

func changedConfigMap(before, after *corev1.ConfigMap) bool {
	return policyData(before.Labels) != policyData(after.Labels) ||
		!maps.Equal(before.Data, after.Data) || !equality.Semantic.DeepEqual(before.BinaryData, after.BinaryData)
}

func changedNode(before, after *corev1.Node) bool {
	return !maps.Equal(before.Labels, after.Labels) || !slices.Equal(before.Status.Addresses, after.Status.Addresses)
}

func changedTrustBundle(before, after *certificatesv1.ClusterTrustBundle) bool {
	return before.Spec.TrustBundle != after.Spec.TrustBundle
}

// sliceLabels name the Service or the ServiceImport, and the cluster: they decide whose endpoints these are.
var sliceLabels = []string{discoveryv1.LabelServiceName, mcsv1beta1.LabelServiceName, mcsv1beta1.LabelSourceCluster}

func changedEndpointSlice(before, after *discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(sliceLabels, func(label string) bool { return before.Labels[label] != after.Labels[label] }) ||
		before.AddressType != after.AddressType ||
		!equality.Semantic.DeepEqual(before.Ports, after.Ports) ||
		!equality.Semantic.DeepEqual(before.Endpoints, after.Endpoints)
}

// changedDeployment counts a new specification and how many replicas of which one serve. Of the conditions, it counts those that
// say what keeps replicas from running.
func changedDeployment(before, after *appsv1.Deployment) bool {
	b, a := before.Status, after.Status
	return changedWorkload(before, after, b.ObservedGeneration, a.ObservedGeneration) ||
		b.Replicas != a.Replicas ||
		b.UpdatedReplicas != a.UpdatedReplicas ||
		b.ReadyReplicas != a.ReadyReplicas ||
		b.AvailableReplicas != a.AvailableReplicas ||
		b.UnavailableReplicas != a.UnavailableReplicas ||
		failureOf(b) != failureOf(a)
}

// changedWorkload compares what Deployments and DaemonSets have in common: the specification, the deletion and the observed generation.
func changedWorkload(before, after metav1.Object, observedBefore, observedAfter int64) bool {
	return before.GetGeneration() != after.GetGeneration() ||
		!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) ||
		observedBefore != observedAfter
}

// failureOf is what keeps the replicas of a Deployment from running.
func failureOf(status appsv1.DeploymentStatus) [2]string {
	var failure [2]string
	for _, c := range status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			failure[0] = c.Message
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse:
			failure[1] = c.Message
		}
	}
	return failure
}

// changedDaemonSet counts what changedDeployment does.
func changedDaemonSet(before, after *appsv1.DaemonSet) bool {
	b, a := before.Status, after.Status
	return changedWorkload(before, after, b.ObservedGeneration, a.ObservedGeneration) ||
		b.DesiredNumberScheduled != a.DesiredNumberScheduled ||
		b.UpdatedNumberScheduled != a.UpdatedNumberScheduled ||
		b.NumberReady != a.NumberReady ||
		b.NumberAvailable != a.NumberAvailable
}

func changedDefinition(before, after *apiextensionsv1.CustomResourceDefinition) bool {
	return !maps.Equal(before.Annotations, after.Annotations) ||
		!equality.Semantic.DeepEqual(before.Spec, after.Spec) ||
		!equality.Semantic.DeepEqual(before.Status, after.Status)
}
