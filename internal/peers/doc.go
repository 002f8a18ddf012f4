// Package peers exchanges the acknowledgements and NACKs of proxies between the replicas of the control plane. Each replica publishes those
// of its own proxies ([Server]) and subscribes to the other replicas ([Client]), over delta xDS with the messages of Envoy's client status
// discovery service.
// Enter at [NewServer] and [NewClient].
// It must not know what other packages do with acknowledgements.
package peers
