package backend_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
)

// accepted is what becomes of an XBackend that leads to a hostname, in a cluster with the domain k8s.corp.
func accepted(t *testing.T, hostname string, off bool) (reason, message string) {
	t.Helper()
	objects := resolvetest.Objects(t, "kind: XBackend\nmetadata: {namespace: app, name: b}\n"+
		"spec: {type: ExternalHostname, port: {number: 443}, externalHostname: {hostname: \""+hostname+"\"}}\n")
	objects.ClusterDomain, objects.NoExternalHostnames = "k8s.corp", off
	r := backend.XBackend(nil, objects, "app/b")
	condition := r.Outcome([]string{"infra/gw"}).Ancestors[0].Conditions[0]
	if (r.TLS != nil && r.TLS.FailClosed) != (condition.Reason != "Accepted") {
		t.Errorf("%s: the connection and the condition do not agree: %+v, %+v", hostname, r.TLS, condition)
	}
	return condition.Reason, condition.Message
}

func TestOutside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, alternative string
		hostnames         []string
	}{
		{"names of Services get around grants", "refer to the Service", []string{
			"db.finance.svc.k8s.corp", "db.finance.svc.K8S.corp.", "k8s.corp", "db.finance.svc.cluster.local", "cluster.local",
			"10-0-0-1.finance.pod.k8s.corp",
			"db.finance.svc", "kubernetes.default", "kubernetes.default.svc",
		}},
		{"names of the proxy itself", "refer to the Service", []string{"localhost", "admin.localhost", "localhost.localdomain", "LOCALHOST."}},
		{"names of one label", "full name", []string{"ip6-localhost", "ip6-loopback", "metadata", "instance-data", "kubernetes", "intranet"}},
		{
			"names of the cloud", "full name",
			[]string{"metadata.google.internal", "metadata.google.internal.", "host.docker.internal", "metadata.tencentyun.com"},
		},
		{"addresses in any notation", "use a name", []string{
			"192.0.2.1", "192.0.2.1.", "127.1", "2130706433", "017700000001", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.0.0.0x1", "0x",
			"::1", "[::1]", "fe80::1%eth0", "a.example.1",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, hostname := range c.hostnames {
				reason, message := accepted(t, hostname, false)
				if reason != "Invalid" || !strings.Contains(message, c.alternative) || !strings.Contains(message, "503") {
					t.Errorf("%s: %s: %s", hostname, reason, message)
				}
			}
		})
	}
	t.Run("names outside", func(t *testing.T) {
		t.Parallel()
		for _, hostname := range []string{
			"api.example.com", "k8s.corp.example", "notk8s.corp", "mycluster.local", "kubernetes.io", "svc.example", "internal.example",
			"localhost.example", "10-0-0-1.example.com", "0xcafe.example", "xn--p1b6ci4b4b3a.xn--11b5bs3a9aj6g", "db.corp.local",
		} {
			if reason, message := accepted(t, hostname, false); reason != "Accepted" {
				t.Errorf("%s: %s: %s", hostname, reason, message)
			}
		}
	})
	t.Run("the operator may allow none", func(t *testing.T) {
		t.Parallel()
		reason, message := accepted(t, "api.example.com", true)
		if reason != backend.ReasonExternalHostnamesDisabled || !strings.Contains(message, "externalHostnames.enabled") ||
			!strings.Contains(message, "EndpointSelector") {
			t.Errorf("%s: %s", reason, message)
		}
	})
}
