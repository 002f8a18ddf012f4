package pipeline

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// TestAHashOfACertificateIsWrittenAsEnvoyReadsIt has hashes that the API server accepts.
func TestAHashOfACertificateIsWrittenAsEnvoyReadsIt(t *testing.T) {
	t.Parallel()
	const accepted, rejected = "Accepted", "Invalid"
	for name, c := range map[string]struct{ settings, want string }{
		"spki with a line break":              {`spkiHashes: ["` + strings.Repeat("A", 43) + `=\n"]`, rejected},
		"certificate with a colon for each":   {`certificateHashes: ["` + strings.Repeat("AB:", 31) + `ab"]`, accepted},
		"certificate with a colon at the end": {`certificateHashes: ["` + strings.Repeat("ab:", 32) + `"]`, rejected},
		"certificate with two colons for one": {`certificateHashes: ["` + strings.Repeat("ab::", 31) + `ab"]`, rejected},
		"certificate with one colon":          {`certificateHashes: ["` + strings.Repeat("ab", 31) + `:ab"]`, rejected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Offline(append(tenantKeys(), resolvetest.Load(t, base+sharedPort+ofTenant("tls: {clientValidation: {"+c.settings+"}}"))...))
			wantPort(t, name, p)
			o := policyOutcome(t, p.graph, store.ClientTrafficPolicy, "tenant/p")
			if o.Conditions[0].Reason != c.want {
				t.Errorf("the policy has %+v, want %s", o.Conditions, c.want)
			}
		})
	}
}
