package render

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/gatewright/gatewright/internal/ir"
)

// guarded is what a patch of a workload may change only in part.
type guarded struct {
	meta     metav1.ObjectMeta
	selector *metav1.LabelSelector
	template corev1.PodTemplateSpec
}

func refused(field, what string) error { return fmt.Errorf("%s may not change %s", field, what) }

// identity are the labels by which Gatewright and its users find its objects.
var identity = []string{
	ir.ManagedByLabel, ir.InstanceLabel, GatewayNameLabel, gatewayClassLabel, nameLabel, ComponentLabel,
	ir.InstallationLabel,
}

// checkMetadata lets a patch change labels, but for our own, and annotations.
func checkMetadata(field, path string, before, after metav1.ObjectMeta) error {
	for _, label := range identity {
		if before.Labels[label] != after.Labels[label] {
			return refused(field, path+".labels["+label+"]")
		}
	}
	if before.Annotations[bootstrapHash] != after.Annotations[bootstrapHash] {
		return refused(field, path+".annotations["+bootstrapHash+"]")
	}
	after.Labels, after.Annotations = before.Labels, before.Annotations
	if !equality.Semantic.DeepEqual(before, after) {
		return refused(field, "anything of "+path+" but labels and annotations")
	}
	return nil
}

// checkWorkload keeps pods what they were: known by the same labels, running as the same ServiceAccount, and within the restricted Pod
// Security Standard.
func checkWorkload(field string, before, after guarded) error {
	if err := checkMetadata(field, "metadata", before.meta, after.meta); err != nil {
		return err
	}
	if err := checkMetadata(field, "spec.template.metadata", before.template.ObjectMeta, after.template.ObjectMeta); err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(before.selector, after.selector) {
		return refused(field, "spec.selector")
	}
	if err := checkPod(field, before.template.Spec, after.template.Spec); err != nil {
		return err
	}
	if err := checkSecurity(field, withoutHostPorts(after.template, before.template)); err != nil {
		return err
	}
	if !slices.ContainsFunc(after.template.Spec.Containers, sealedEnvoy) {
		return refused(field, "the container envoy to be gone, or to write to its image")
	}
	return nil
}

// sealedEnvoy says whether a container is the proxy's, which cannot write to its image.
func sealedEnvoy(c corev1.Container) bool {
	security := c.SecurityContext
	return c.Name == "envoy" && security != nil && security.ReadOnlyRootFilesystem != nil && *security.ReadOnlyRootFilesystem
}

// checkPod keeps pods where they were, and the ServiceAccount they run as.
func checkPod(field string, was, is corev1.PodSpec) error {
	switch {
	case was.ServiceAccountName != is.ServiceAccountName || is.DeprecatedServiceAccount != "":
		return refused(field, "the ServiceAccount of the pods")
	case is.AutomountServiceAccountToken == nil || *is.AutomountServiceAccountToken:
		return refused(field, "automountServiceAccountToken: proxies have nothing to say to the API server")
	case is.OS != nil && is.OS.Name != corev1.Linux:
		// The restricted standard asks less of other systems.
		return refused(field, "os: Envoy runs on Linux")
	case is.NodeName != "":
		return refused(field, "nodeName; use pod.nodeSelector or pod.affinity of the ProxyConfig")
	case is.ShareProcessNamespace != nil && *is.ShareProcessNamespace:
		return refused(field, "shareProcessNamespace: other containers could read the proxy's keys")
	}
	return nil
}

// checkSecurity holds pods to what Kubernetes itself calls restricted, in its newest version, whatever the namespace asks for.
func checkSecurity(field string, template corev1.PodTemplateSpec) error {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return fmt.Errorf("reading the Pod Security Standards: %w", err)
	}
	standard := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(standard, &template.ObjectMeta, &template.Spec))
	if result.Allowed {
		return nil
	}
	return fmt.Errorf("%s leaves the restricted Pod Security Standard: %s", field, strings.TrimSpace(result.ForbiddenDetail()))
}

// checkService keeps the Service in front of its own proxies, and from taking traffic of others.
func checkService(field string, before, after *corev1.Service) error {
	if err := checkMetadata(field, "metadata", before.ObjectMeta, after.ObjectMeta); err != nil {
		return err
	}
	switch {
	case !equality.Semantic.DeepEqual(before.Spec.Selector, after.Spec.Selector):
		return refused(field, "spec.selector")
	case len(after.Spec.ExternalIPs) > 0:
		return refused(field, "spec.externalIPs: they could take traffic of others")
	case after.Spec.Type != before.Spec.Type:
		return refused(field, "spec.type; use service.type of the ProxyConfig")
	case after.Spec.ExternalName != "":
		return refused(field, "spec.externalName")
	}
	return nil
}
