package quarantine

import "maps"

// causes are the versions of rejected clusters, by name, because of which something is in quarantine. It is tried again when one of them
// has changed: what is in quarantine only names the cluster, so it may be good as it is.
type causes map[string]string

// causesOf returns the cluster that a NACK names, if any.
func causesOf(r NACK) causes {
	if r.Cluster.Name == "" {
		return nil
	}
	return causes{r.Cluster.Name: r.Cluster.Version}
}

// with returns the causes and others.
func (c causes) with(others causes) causes {
	if len(others) == 0 {
		return c
	}
	all := maps.Clone(others)
	maps.Copy(all, c)
	return all
}

// corrected reports whether one of the clusters has another version by now at a Gateway.
func (q *Quarantine) corrected(gateway string, because causes) bool {
	for cluster, version := range because {
		if q.tables.ClusterVersion(gateway, cluster) != version {
			return true
		}
	}
	return false
}
