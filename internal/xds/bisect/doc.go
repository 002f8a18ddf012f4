// Package bisect finds the virtual hosts and routes that an Envoy rejects. Envoy NACKs a RouteConfiguration as a whole and does not name
// the culprit. It does name listeners that it rejects, so parts of the configuration are sent again in probe listeners that bind no port.
// Enter at [New] and call [Search.Next] with each answer; [Named] and [ReasonOf] read the text of a NACK.
// It must not know streams, subscriptions or Kubernetes.
package bisect
