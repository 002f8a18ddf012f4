//go:build translation

package translation

import (
	"io"
	"net/http"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

// TestLoadReports: what endpoints report of their load, in headers and in trailers, reaches clients only of backends that do not hide it.
func TestLoadReports(t *testing.T) {
	t.Parallel()
	backend := svc("reporting")
	backend.Protocol = ir.BackendHTTP2
	rule := func(path string, hide bool, edit *ir.HeaderEdit) ir.Rule {
		return ir.Rule{
			Name: "HTTPRoute/a/b/" + path + "/0", Match: ir.Match{Path: ir.StringMatch{Kind: ir.Prefix, Value: path}},
			Forward: &ir.Forward{Backends: []ir.WeightedBackend{{Backend: backend, Weight: 1, HideReports: hide, ResponseHeaders: edit}}},
		}
	}
	names := []string{"Endpoint-Load-Metrics", "Endpoint-Load-Metrics-Bin"}
	p := startProxy(t, ir.VirtualHost{Domain: "*", Rules: []ir.Rule{
		rule("/hidden", true, nil), rule("/edited", true, &ir.HeaderEdit{Remove: []string{"x"}}), rule("/kept", false, nil),
	}}, map[string]http.Handler{"reporting": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range names {
			w.Header().Set(name, "TEXT cpu_utilization=0.3")
			w.Header().Set(http.TrailerPrefix+name, "TEXT cpu_utilization=0.3")
		}
		w.Header().Set(http.TrailerPrefix+"Other", "stays")
		_, _ = w.Write([]byte("body"))
	})})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	for path, want := range map[string]int{"/hidden": 0, "/edited": 0, "/kept": 4} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.address+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
		seen := 0
		for _, name := range names {
			seen += len(response.Header.Values(name)) + len(response.Trailer.Values(name))
		}
		if err != nil || response.StatusCode != http.StatusOK || seen != want || response.Trailer.Get("Other") != "stays" {
			t.Errorf("%s: %d, %v, %d reports, want %d; trailers %v", path, response.StatusCode, err, seen, want, response.Trailer)
		}
	}
}
