package class

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// bundle is what the cluster has of the Gateway API.
type bundle struct {
	// versions has the definitions of each bundle version, channels the channels. A definition without the annotation is under "".
	versions map[string][]string
	channels map[string]bool
	// missing are kinds of the standard channel that are not served in a version we can read, experimental those of the other channel.
	missing      []string
	experimental []string
	// older are kinds that are read in another version than the best.
	older []string
}

// supportedVersion evaluates the definitions of the Gateway API that the cluster has. Whatever they are, what is served is served as well
// as it can be; the condition is true only when they are of the minor version Gatewright is built for and no kind of the standard
// channel is missing.
func supportedVersion(v *store.View, objects *store.Objects) outcome.Condition {
	b := readBundle(v, objects)
	condition := outcome.Condition{
		Type:    string(gwv1.GatewayClassConditionStatusSupportedVersion),
		State:   outcome.True,
		Reason:  string(gwv1.GatewayClassReasonSupportedVersion),
		Message: b.describe(),
	}
	if len(b.missing) > 0 || !b.recognised() {
		condition.State = outcome.False
		condition.Reason = string(gwv1.GatewayClassReasonUnsupportedVersion)
		condition.Message += fmt.Sprintf("; Gatewright supports %s, and serves what is there: install the CRDs of %s for the rest",
			minor(consts.BundleVersion), consts.BundleVersion)
	}
	return condition
}

func readBundle(v *store.View, objects *store.Objects) bundle {
	b := bundle{versions: map[string][]string{}, channels: map[string]bool{}}
	for _, name := range objects.Definitions.Keys(v) {
		definition, _ := objects.Definitions.Get(v, name)
		version := definition.Annotations[consts.BundleVersionAnnotation]
		b.versions[version] = append(b.versions[version], name)
		if channel := definition.Annotations[consts.ChannelAnnotation]; channel != "" {
			b.channels[channel] = true
		}
	}
	for _, custom := range store.CRDKinds {
		if !custom.OfGatewayAPI() {
			continue
		}
		definition, _ := objects.Definitions.Get(v, custom.Definition())
		switch served := custom.ServedVersion(definition); {
		case served == custom.Versions[0]:
		case served != "":
			b.older = append(b.older, fmt.Sprintf("%s as %s", custom.Kind, served))
		case custom.Experimental:
			b.experimental = append(b.experimental, string(custom.Kind))
		default:
			b.missing = append(b.missing, string(custom.Kind))
		}
	}
	return b
}

// recognised says whether every definition is of the minor version that Gatewright is built for.
func (b bundle) recognised() bool {
	for version := range b.versions {
		if minor(version) != minor(consts.BundleVersion) {
			return false
		}
	}
	return true
}

// describe says what is there and what is not.
func (b bundle) describe() string {
	parts := []string{"the cluster has no CRDs of the Gateway API"}
	if len(b.versions) > 0 {
		parts = []string{fmt.Sprintf("the cluster has the CRDs of Gateway API %s, %s channel", b.versionList(),
			strings.Join(slices.Sorted(maps.Keys(b.channels)), " and "))}
	}
	for _, list := range []struct {
		text  string
		kinds []string
	}{
		{"read in another version: ", b.older},
		{"not served by the cluster: ", b.missing},
		{"not served by the cluster, because only the experimental channel has them: ", b.experimental},
	} {
		if len(list.kinds) > 0 {
			parts = append(parts, list.text+strings.Join(list.kinds, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// versionList names the versions; where there are several, with the definitions that have each.
func (b bundle) versionList() string {
	var list []string
	for _, version := range slices.Sorted(maps.Keys(b.versions)) {
		name := version
		if version == "" {
			name = "of no known version"
		}
		if len(b.versions) > 1 {
			name += " (" + strings.Join(b.versions[version], ", ") + ")"
		}
		list = append(list, name)
	}
	return strings.Join(list, " and ")
}

// minor is a version without its patch: v1.7 of v1.7.1.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
