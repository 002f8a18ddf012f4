package admission_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/test/admission"
)

// TestMigratedSpellings has what the API server says about spellings that users bring along: it names the right one.
func TestMigratedSpellings(t *testing.T) {
	t.Parallel()
	rules, err := admission.Read("../../charts/gatewright/files/crds")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, kind, settings, refused string }{
		{"requests under way", "BackendTrafficPolicy", "circuitBreaker: {maxRequests: 1024}", "use maxParallelRequests"},
		{"retries under way", "BackendTrafficPolicy", "circuitBreaker: {maxRetries: 3}", "use maxParallelRetries"},
		{
			"a range of statuses", "BackendTrafficPolicy",
			"healthCheck: {active: {type: HTTP, http: {path: /, expectedStatuses: [{start: 200, end: 299}]}}}",
			"expectedStatuses[0] in body must be of type int32",
		},
		{"a version of TLS", "ClientTrafficPolicy", "tls: {minVersion: TLSv1_2}", `supported values: "Auto", "1.0", "1.1", "1.2", "1.3"`},
		{
			"a rate limit", "SecurityPolicy", "rateLimit: {type: Local, local: {rules: [{limit: {requests: 100, unit: Minute}}]}}",
			"use rateLimit of a BackendTrafficPolicy",
		},
		{
			"a global rate limit", "BackendTrafficPolicy", "rateLimit: {type: Global, global: {rules: [{limit: {requests: 3, unit: Hour}, " +
				"shared: true, cost: {request: {from: Number, number: 0}, response: {from: Metadata, metadata: {namespace: a, key: b}}}}]}}", "",
		},
		{
			"a local rate limit that is shared", "BackendTrafficPolicy",
			"rateLimit: {local: {rules: [{limit: {requests: 3, unit: Hour}, shared: true}]}}", "shared is for global limits",
		},
		{
			"a local rate limit with a cost of responses", "BackendTrafficPolicy",
			"rateLimit: {local: {rules: [{limit: {requests: 3, unit: Hour}, cost: {response: {from: Number, number: 1}}}]}}",
			"cost.response is for global limits",
		},
		{
			"a local rate limit from metadata", "BackendTrafficPolicy",
			"rateLimit: {local: {rules: [{limit: {requests: 3, unit: Hour, fromMetadata: {namespace: a, key: b}}}]}}",
			"limit.fromMetadata is not served",
		},
		{
			"statuses to retry without their trigger", "BackendTrafficPolicy",
			"retry: {retryOn: {triggers: [5xx], httpStatusCodes: [503]}}", "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := rules.Check("kind: " + test.kind + "\nmetadata: {namespace: a, name: b}\nspec:\n" +
				"  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: c}]\n  " + test.settings)
			switch {
			case test.refused == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("the answer is %v, want it to say %q", err, test.refused)
			}
		})
	}
}

// TestMigratedObjects: the API server takes the objects that the end-to-end test applies.
func TestMigratedObjects(t *testing.T) {
	t.Parallel()
	rules, err := admission.Read("../../charts/gatewright/files/crds")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../internal/pipeline/testdata/MigratedObjects/in.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		if err := rules.Check(document); err != nil {
			t.Errorf("%v\n%s", err, document)
		}
	}
}
