package ir

import "strings"

// In the name of a failover, memberSeparator stands between its members, and partSeparator between the parts of a member. No name in
// Kubernetes has either.
const memberSeparator, partSeparator = ",", "+"

// Failover is a backend that stands for others. A request goes to the first of them that has healthy endpoints.
func Failover(members ...Backend) Backend {
	first := members[0]
	names := make([]string, len(members))
	for i, m := range members {
		m.Variant = ""
		names[i] = strings.ReplaceAll(m.String(), "/", partSeparator)
	}
	return Backend{
		Kind: KindFailover, Object: Name{Namespace: first.Object.Namespace, Name: strings.Join(names, memberSeparator)},
		Protocol: first.Protocol, Variant: first.Variant,
	}
}

// Members are the backends that a failover stands for, with its variant; none for any other backend.
func (b Backend) Members() []Backend {
	if b.Kind != KindFailover {
		return nil
	}
	var members []Backend
	for name := range strings.SplitSeq(b.Object.Name, memberSeparator) {
		if m, ok := ParseBackend(strings.ReplaceAll(name, partSeparator, "/")); ok {
			m.Variant = b.Variant
			members = append(members, m)
		}
	}
	return members
}
