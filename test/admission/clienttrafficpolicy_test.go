package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/resolve/tlsname"
	"github.com/gatewright/gatewright/test/admission"
)

// TestClientTrafficPolicyTexts has how much text the API server takes of a ClientTrafficPolicy, by the definition in the chart.
func TestClientTrafficPolicyTexts(t *testing.T) {
	t.Parallel()
	rules, err := admission.Read("../../charts/gatewright/files/crds")
	if err != nil {
		t.Fatal(err)
	}
	const tooMuch, tooLong = "at most 16384 characters together", "Too long"
	// The name and the value of a header, names that are removed, and values of matches have so many characters.
	headers := func(n, length int) string { return list(n, "{name: x-%02d, value: %s}", length-4) }
	names := func(n, length int) string { return list(n, "n%02d%s", length-3) }
	matches := func(n, length int) string { return list(n, "{value: n%02d%s}", length-3) }
	early := func(lists string) string { return "headers: {earlyRequestHeaders: {" + lists + "}}" }
	client := func(lists string) string {
		return "tls: {clientValidation: {caCertificateRefs: [{name: a}], " + lists + "}}"
	}
	subjects := func(lists string) string { return client("subjectAltNames: {" + lists + "}") }
	text := func(length int) string { return strings.Repeat("a", length) }
	threeLists := "set: " + headers(1, 4096) + ", add: " + headers(1, 4096) + ", addIfAbsent: " + headers(1, 4096)
	fourLists := "dnsNames: " + matches(4, 1024) + ", emailAddresses: " + matches(4, 1024) + ", ipAddresses: " + matches(3, 1024) +
		", uris: " + matches(4, 1024)
	tests := []struct{ name, settings, refused string }{
		{"no headers", early(""), ""},
		{"empty lists of headers", early("set: [], add: [], addIfAbsent: [], remove: [], removeOnMatch: []"), ""},
		{"usual headers", early("set: [{name: a, value: b}], remove: [c], removeOnMatch: [{type: Prefix, value: d}]"), ""},
		{"a few headers with as much as there is room for", early("set: " + headers(4, 4096)), ""},
		{"a few headers with more", early("set: " + headers(4, 4096) + ", remove: [x]"), tooMuch},
		{"headers of responses with more", "headers: {lateResponseHeaders: {set: " + headers(4, 4096) + ", remove: [x]}}", tooMuch},
		{"many headers with as much as there is room for", early("add: " + headers(64, 256)), ""},
		{"many headers with more", early("addIfAbsent: " + headers(64, 257)), tooMuch},
		{"names that are removed", early("remove: " + names(64, 256)), ""},
		{"a name that is removed and too long", early("remove: " + names(1, 257)), tooLong},
		{"matches that are removed", early("removeOnMatch: " + matches(16, 1024)), ""},
		{"matches that are removed with more", early("removeOnMatch: " + matches(16, 1024) + ", remove: [x]"), tooMuch},
		{
			"all lists of headers with as much as there is room for",
			early(threeLists + ", remove: " + names(8, 256) + ", removeOnMatch: " + matches(2, 1024)), "",
		},
		{"all lists of headers with more", early(threeLists + ", remove: " + names(9, 256) + ", removeOnMatch: " + matches(2, 1024)), tooMuch},
		{"empty lists of subjects", subjects("dnsNames: [], emailAddresses: [], ipAddresses: [], uris: [], otherNames: []"), ""},
		{"usual subjects", subjects("dnsNames: [{value: a.example}], otherNames: [{oid: 1.3.6.1.4.1.311.20.2.3, value: b}]"), ""},
		{"a few subjects with as much as there is room for", subjects("dnsNames: " + matches(16, 1024)), ""},
		{"many subjects with more", subjects("uris: " + matches(64, 257)), tooMuch},
		{"all subjects with as much as there is room for", subjects(fourLists + ", otherNames: [{oid: '1.2.3', value: " + text(1019) + "}]"), ""},
		{"all subjects with more", subjects(fourLists + ", otherNames: [{oid: '1.2.3', value: " + text(1020) + "}]"), tooMuch},
		{"the hash of a key", client("spkiHashes: [" + text(44) + "]"), ""},
		{"the hash of a key that is too long", client("spkiHashes: [" + text(129) + "]"), tooLong},
		{"the hash of a certificate with colons", client("certificateHashes: ['" + strings.Repeat("ab:", 31) + "ab']"), ""},
		{"the hash of a certificate that is too long", client("certificateHashes: [" + text(129) + "]"), tooLong},
		{"all cipher suites with the same preference", "tls: {ciphers: ['[" + strings.Join(tlsname.CipherSuites, "|") + "]']}", ""},
		{"a cipher suite that is too long", "tls: {ciphers: [" + text(513) + "]}", tooLong},
		{"all curves", "tls: {ecdhCurves: [" + strings.Join(tlsname.Curves, ", ") + "]}", ""},
		{"a curve that is too long", "tls: {ecdhCurves: [" + text(65) + "]}", tooLong},
		{"all signature algorithms", "tls: {signatureAlgorithms: [" + strings.Join(tlsname.SignatureAlgorithms, ", ") + "]}", ""},
		{"a signature algorithm that is too long", "tls: {signatureAlgorithms: [" + text(65) + "]}", tooLong},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			change := resolvetest.Load(t, "kind: ClientTrafficPolicy\nmetadata: {namespace: a, name: b}\nspec:\n"+
				"  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: c}]\n  "+test.settings)[0]
			_, err := rules.Admit(change)
			switch {
			case test.refused == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("the answer is %v, want it to say %q", err, test.refused)
			}
		})
	}
}

// list is a list in YAML of so many numbered items, each with a text of so many characters.
func list(n int, item string, length int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(item, i, strings.Repeat("v", length))
	}
	return "[" + strings.Join(items, ", ") + "]"
}
