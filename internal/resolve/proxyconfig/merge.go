package proxyconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

// atomicFields are objects that offer a choice, or have a meaning only as a whole: the Gateway's replaces that of the class.
var atomicFields = map[string]bool{
	"disruptionBudget": true, "pod.resources": true, "tracing.backendRef": true,
	"patches.deployment": true, "patches.daemonSet": true, "patches.service": true,
}

// Merge lays the spec of a Gateway's own ProxyConfig over that of its class: objects by field, everything else as a whole. The workload
// and the number of its replicas belong together.
func Merge(class, own v1alpha1.ProxyConfigSpec) (v1alpha1.ProxyConfigSpec, error) {
	if own.Replicas != nil {
		class.Autoscaling = nil
	}
	if own.Autoscaling != nil {
		class.Replicas = nil
	}
	if own.Workload != nil && *own.Workload == v1alpha1.DaemonSetWorkload {
		class.Replicas, class.Autoscaling, class.DisruptionBudget = nil, nil, nil
	}
	below, err := Fields(class)
	if err != nil {
		return class, err
	}
	above, err := Fields(own)
	if err != nil {
		return class, err
	}
	raw, err := json.Marshal(overlay("", below, above))
	if err != nil {
		return class, fmt.Errorf("merging parameters: %w", err)
	}
	var merged v1alpha1.ProxyConfigSpec
	if err := json.Unmarshal(raw, &merged); err != nil {
		return class, fmt.Errorf("merging parameters: %w", err)
	}
	return merged, nil
}

// Fields returns the fields that a spec sets, by their JSON names.
func Fields(spec v1alpha1.ProxyConfigSpec) (map[string]any, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("reading parameters: %w", err)
	}
	fields := map[string]any{}
	// Numbers stay as they are written: a float64 does not hold every int64.
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("reading parameters: %w", err)
	}
	return fields, nil
}

func overlay(path string, below, above map[string]any) map[string]any {
	merged := maps.Clone(below)
	for field, value := range above {
		lower, fine := below[field].(map[string]any)
		upper, good := value.(map[string]any)
		if fine && good && !atomicFields[path+field] {
			value = overlay(path+field+".", lower, upper)
		}
		merged[field] = value
	}
	return merged
}
