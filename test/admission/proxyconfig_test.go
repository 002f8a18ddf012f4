package admission_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/test/admission"
)

// TestProxyConfig has what the API server refuses of a ProxyConfig, by the definition in the chart.
func TestProxyConfig(t *testing.T) {
	t.Parallel()
	rules, err := admission.Read("../../charts/gatewright/files/crds")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		spec string
		// refused is a part of the answer, empty where the object is taken.
		refused string
	}{
		{"nothing", "{}", ""},
		{"everything that goes together", `{replicas: 3, disruptionBudget: {minAvailable: 50%}, concurrency: 2,
			limits: {connections: 10}, drain: {delay: 5s, timeout: 1m30s}, delivery: XDS,
			pod: {labels: {a.example/b: c}, nodeSelector: {a: b}, resources: {limits: {memory: 1Gi}}},
			metrics: {prometheus: Disabled, backends: Enabled},
			service: {type: LoadBalancer, loadBalancerSourceRanges: [192.0.2.0/24, "2001:db8::/32"], ipFamilies: [IPv4, IPv6],
				ipFamilyPolicy: RequireDualStack, nodePorts: [{port: 80, nodePort: 30080}]},
			accessLogs: [{type: JSON, fields: {a: b}}, {type: Text, format: x}, {type: OTLP, otlp: {backendRef: {name: c, port: 4317}}}],
			patches: {deployment: {spec: {x: y}}}}`, ""},
		{"databases", "{geoIP: {maxMind: {cityDBPath: /geo/city.mmdb, anonymousIPDBPath: /geo/a}}}", ""},
		{"no database", "{geoIP: {maxMind: {}}}", "at least one path"},
		{"databases of no format", "{geoIP: {}}", "maxMind"},
		{"a path that is none", "{geoIP: {maxMind: {asnDBPath: geo.mmdb}}}", "asnDBPath"},
		{"a number and an autoscaler", "{replicas: 3, autoscaling: {maxReplicas: 4}}", "exclude each other"},
		{"more at least than at most", "{autoscaling: {minReplicas: 5, maxReplicas: 4}}", "more than maxReplicas"},
		{"an autoscaler without a bound", "{autoscaling: {minReplicas: 5}}", "maxReplicas"},
		{"a negative number", "{replicas: -1}", "replicas"},
		{"a number of daemons", "{workload: DaemonSet, replicas: 3}", "one proxy on each node"},
		{"a budget of daemons", "{workload: DaemonSet, disruptionBudget: {minAvailable: 1}}", "one proxy on each node"},
		{"a kind that runs nothing", "{workload: StatefulSet}", "workload"},
		{"a budget that says two things", "{disruptionBudget: {minAvailable: 1, maxUnavailable: 1}}", "exactly one"},
		{"a budget that says nothing", "{disruptionBudget: {}}", "exactly one"},
		{"a budget in words", "{disruptionBudget: {minAvailable: some}}", "percentage"},
		{"a patch for what does not run the proxies", "{patches: {daemonSet: {}}}", "needs workload DaemonSet"},
		{"the other patch for what does not run the proxies", "{workload: DaemonSet, patches: {deployment: {}}}", "needs workload Deployment"},
		{
			"a node port inside the cluster", "{service: {type: ClusterIP, nodePorts: [{port: 80, nodePort: 30080}]}}",
			"ClusterIP Service has no nodePorts",
		},
		{"a load balancer without a class", "{service: {type: NodePort, loadBalancerClass: x}}", "NodePort Service has no loadBalancerClass"},
		{"a Service of another kind", "{service: {type: ExternalName}}", "type"},
		{"a range that is none", "{service: {loadBalancerSourceRanges: [192.0.2.1]}}", "is a network"},
		{"two families of one kind", "{service: {ipFamilies: [IPv4, IPv4], ipFamilyPolicy: RequireDualStack}}", "must differ"},
		{"two families without a policy", "{service: {ipFamilies: [IPv4, IPv6]}}", "ipFamilyPolicy"},
		{"a port that is none", "{service: {nodePorts: [{port: 80, nodePort: 70000}]}}", "nodePort"},
		{"a label that is none", "{pod: {labels: {'a b': c}}}", "not the name of a label"},
		{"a label whose value is none", "{pod: {labels: {a: 'b c'}}}", "not the value of a label"},
		{"an annotation that is none", "{pod: {annotations: {'a/b/c': d}}}", "not the name of an annotation"},
		{"amounts of all kinds", "{pod: {resources: {limits: {cpu: 2, memory: 1.5Gi, a: 100m, b: '.5', c: 1e3, d: 2E, e: 12E-3}}}}", ""},
		{"an amount without end", "{pod: {resources: {limits: {memory: '123456789012345678901'}}}}", "memory"},
		{"no threads", "{concurrency: 0}", "concurrency"},
		{"no connections", "{limits: {connections: 0}}", "connections"},
		{"a drain that takes for ever", "{drain: {timeout: 48h}}", "at most 24h"},
		{"a delay that is none", "{drain: {delay: soon}}", "delay"},
		{"text with fields", "{accessLogs: [{type: Text, fields: {a: b}}]}", "fields are for JSON and OTLP"},
		{"JSON with a format", "{accessLogs: [{type: JSON, format: x}]}", "format is for Text"},
		{"OTLP without a backend", "{accessLogs: [{type: OTLP}]}", "otlp is needed"},
		{"JSON with a backend", "{accessLogs: [{type: JSON, otlp: {backendRef: {name: c, port: 1}}}]}", "otlp is needed"},
		{"a delivery that there is not", "{delivery: Pigeons}", "delivery"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			change := resolvetest.Load(t, "kind: ProxyConfig\nmetadata: {namespace: a, name: b}\nspec: "+strings.ReplaceAll(test.spec, "\n", " "))[0]
			_, err := rules.Admit(change)
			switch {
			case test.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("want an error that says %q: %v", test.refused, err)
			}
		})
	}
}

// TestQuantitiesHaveAnEnd is about the pattern of quantities: what it lets through has to be read by Kubernetes' own types, in no time.
func TestQuantitiesHaveAnEnd(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../charts/gatewright/files/crds/gatewright.dev_proxyconfigs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	patterns := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if _, pattern, ok := strings.Cut(strings.TrimSpace(line), "pattern: "); ok && strings.Contains(pattern, "KMGTPE") {
			patterns[pattern] = true
		}
	}
	if len(patterns) != 1 {
		t.Fatalf("there are %d patterns of quantities", len(patterns))
	}
	for pattern := range patterns {
		expression := regexp.MustCompile(pattern)
		for _, good := range []string{"1", "0", "+1.5Gi", "100m", ".5", "5.", "1e3", "2E", "12E-3", "-3n"} {
			if !expression.MatchString(good) {
				t.Errorf("%q is refused", good)
			} else if _, err := resource.ParseQuantity(good); err != nil {
				t.Errorf("%q cannot be read: %v", good, err)
			}
		}
		for _, bad := range []string{"", "1e1.5", "1e-1000000000", "1e100", "123456789012345678901", ".", "1x", "1e"} {
			if expression.MatchString(bad) {
				t.Errorf("%q is taken", bad)
			}
		}
	}
}
