//go:build fault

package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/jwt"
	"github.com/gatewright/gatewright/test/live"
)

const (
	// lie is the value that a client gives to headers that it has no say in.
	lie = "forged-42"
	// wantedAddress is the one that a client would like to have.
	wantedAddress = "198.51.100.7"
)

// spoofing is a request with credentials that are good, beside headers that only a policy may write.
type spoofing struct {
	what, host string
	// credentials are lines of the request.
	credentials []string
	forged      []string
	// want is what the backend has to see, if it is asked at all.
	want string
}

// TestCase42SpoofedHeadersWithPolicies: no client chooses the value of a header that a policy writes, the address by which a policy knows
// it, or the key by which it is counted.
func TestCase42SpoofedHeadersWithPolicies(t *testing.T) {
	t.Parallel()
	c := begin(t, "42 with policies", "clients spoof headers of policies")
	w := newSpoofFixture(t)
	attempts, accepted := 0, 0
	for _, s := range w.spoofings(t) {
		for _, variant := range s.variants() {
			attempts++
			status, body, err := variant.send(t.Context(), w.at(80))
			if err != nil {
				t.Logf("%s, %v: %v", s.what, variant.forged, err)
				continue
			}
			if status == http.StatusOK && (strings.Contains(body, lie) || !strings.Contains(body, s.want)) {
				t.Errorf("%s: a client that sends %q has the backend see %s", s.what, variant.forged, body)
				accepted++
			}
		}
	}
	c.none(accepted, fmt.Sprintf("of %d requests with forged headers accepted", attempts))
	attempts, accepted = w.promoted(t)
	c.none(accepted, fmt.Sprintf("of %d with the rights of another", attempts))
	attempts, accepted = w.borrowedAddresses(t)
	c.none(accepted, fmt.Sprintf("of %d with the address of another", attempts))
	c.none(w.evaded(t), "requests beyond rate limits")
	c.none(nacks(t, w.OneProxy(t, gatewayName)), "NACKs of the proxy")
}

// variants are ways to write the same request. The first shows that its credentials are good.
func (s spoofing) variants() []spoofing {
	var variants []spoofing
	add := func(forged ...string) {
		variant := s
		variant.forged = forged
		variants = append(variants, variant)
	}
	add()
	for _, name := range s.forged {
		lower, upper := strings.ToLower(name), strings.ToUpper(name)
		line := ": " + lie
		add(name + line)
		add(upper+line, lower+line)
		add(name+line, "Connection: "+name)
		add("Connection: " + lower)
		add(name + ":")
	}
	return variants
}

// send sends a request as it is, and then the same by HTTP/2.
func (s spoofing) send(ctx context.Context, address string) (int, string, error) {
	lines := append(append([]string{"GET / HTTP/1.1", "Host: " + s.host}, s.credentials...), s.forged...)
	answer, err := live.RawHTTP1(ctx, address, nil, strings.Join(lines, "\n"))
	if err != nil || answer.Status == http.StatusOK && strings.Contains(string(answer.Body), lie) {
		return answer.Status, string(answer.Body), err
	}
	fields := []string{":method", "GET", ":scheme", "http", ":authority", s.host, ":path", "/"}
	for _, line := range lines[2:] {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, "Connection") {
			// HTTP/2 has no such header.
			return answer.Status, string(answer.Body), nil
		}
		fields = append(fields, strings.ToLower(name), strings.TrimSpace(value))
	}
	answer, err = live.RawHTTP2(ctx, address, nil, nil, fields...)
	return answer.Status, string(answer.Body), err
}

// spoofFixture is a Gateway with a route for each policy that writes headers.
type spoofFixture struct {
	*fixture
	signers [2]jwt.Signer
	// peer is the address that proxies see connections of the test come from.
	peer string
}

// at is a port of the Gateway.
func (w *spoofFixture) at(port gwv1.PortNumber) string {
	return net.JoinHostPort(w.address, fmt.Sprint(port))
}

func spoofHost(name string) string { return name + ".spoof.example.com" }

func newSpoofFixture(t *testing.T) *spoofFixture {
	t.Helper()
	w := &spoofFixture{fixture: &fixture{Fixture: live.New(t)}, signers: [2]jwt.Signer{jwt.New(t, "1"), jwt.New(t, "2")}}
	w.ServeHere(t, serviceName, func(response http.ResponseWriter, request *http.Request) {
		_ = json.NewEncoder(response).Encode(live.Answer{Pod: "here", Headers: request.Header})
	})
	// The server says who a client is, and nothing about its team.
	w.ServeHere(t, "authorizer", func(response http.ResponseWriter, request *http.Request) {
		if request.Header.Get("Authorization") != "good" {
			response.WriteHeader(http.StatusUnauthorized)
		}
		response.Header().Set("X-Person", "ali")
	})
	w.ServeHere(t, "provider", func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Content-Type", "application/json")
		_, _ = response.Write([]byte(`{"access_token": "access", "token_type": "bearer", "expires_in": 600}`))
	})
	makeYAML(t, w.Fixture, spoofSecrets)
	for name, settings := range w.spoofPolicies(t) {
		w.secure(t, name, "HTTPRoute", name, "", settings)
		if name != "plans" {
			w.Route(t, name, gatewayName, spoofHost(name), serviceName)
		}
	}
	makeYAML(t, w.Fixture, spoofRoutes)
	gateway := live.GatewayOf(gatewayName)
	for _, port := range addressPorts {
		if port.port != 80 {
			gateway.Spec.Listeners = append(gateway.Spec.Listeners, gwv1.Listener{
				Name: gwv1.SectionName(port.listener), Port: port.port, Protocol: gwv1.HTTPProtocolType,
			})
		}
	}
	w.address = w.Programmed(t, gateway)
	w.Route(t, "steady", gatewayName, steadyHost, serviceName)
	w.WaitServed(t, w.address, steadyHost)
	answer, err := w.Request(t.Context(), w.address, steadyHost)
	if err != nil || len(answer.Headers["X-Forwarded-For"]) != 1 {
		t.Fatalf("the backend does not see the address of the test: %v, %v", answer.Headers, err)
	}
	w.peer = answer.Headers["X-Forwarded-For"][0]
	w.detectAddresses(t)
	return w
}

// spoofPolicies are the settings of SecurityPolicies, by the route that they are for.
func (w *spoofFixture) spoofPolicies(t *testing.T) map[string]string {
	t.Helper()
	// The second provider writes a header that tokens of the first say nothing about.
	providers := fmt.Sprintf(`providers: [`+
		`{name: a, issuer: a, localJWKS: {inline: '%s'}, claimToHeaders: [{claim: sub, header: X-User}, {claim: role, header: X-Role}]}, `+
		`{name: b, issuer: b, localJWKS: {inline: '%s'}, claimToHeaders: [{claim: sub, header: X-Admin}]}]`,
		w.signers[0].KeySet(), w.signers[1].KeySet())
	const (
		users = `basicAuth: {users: {name: users}, forwardUsernameHeader: X-Name}`
		keys  = `apiKeyAuth: {credentialRefs: [{name: keys}], extractFrom: [{headers: [X-Key]}], forwardClientIDHeader: X-Client}`
		asks  = `extAuth: {http: {backendRef: {name: authorizer, port: 80}, headersToBackend: [X-Person, X-Team]}}`
	)
	return map[string]string{
		"tokens":          `jwt: {` + providers + `}`,
		"optional-tokens": `jwt: {optional: true, ` + providers + `}`,
		"any-tokens":      `jwt: {failOpen: true, ` + providers + `}`,
		"users":           users,
		"keys":            keys,
		"key-rules":       keys + "\n" + `authorization: {rules: [{action: Allow, principal: {headers: [{name: X-Client, values: [one]}]}}]}`,
		"limited-tokens":  `jwt: {` + providers + `}`,
		"address":         `authorization: {rules: [{action: Allow, principal: {clientCIDRs: [` + wantedAddress + `/32]}}]}`,
		"asks":            asks,
		"asks-no-server": `extAuth: {http: {backendRef: {name: down, port: 80}, headersToBackend: [X-Person, X-Team]}, ` +
			`failOpen: true, timeout: 200ms}`,
		"plans": strings.Replace(`jwt: {`+providers+`}`, "{claim: role, header: X-Role}]",
			"{claim: plan, header: X-Plan}], recomputeRoute: true", 1),
		"any-of": users + "\n" + keys + "\n" + `jwt: {` + providers + `}` + "\n" + `authentication: {require: Any}`,
		"log-in": `oidc: {clientID: web, clientSecret: {name: client}, forwardIDToken: {header: X-Identity}, ` +
			`provider: {issuer: "https://login.example", authorizationEndpoint: "https://login.example/auth", ` +
			`tokenEndpoint: "http://provider/token", backendRef: {name: provider, port: 80}}}`,
	}
}

// spoofings are what a client tries at port 80.
func (w *spoofFixture) spoofings(t *testing.T) []spoofing {
	t.Helper()
	const name, key = "Authorization: Basic YWxpOnBhc3N3b3Jk", "X-Key: k1"
	token := func(i int, issuer string) string {
		return "Authorization: " + w.signers[i].Bearer(map[string]any{"iss": issuer, "sub": "ali"})
	}
	of := func(host string, credentials []string, want string, forged ...string) spoofing {
		return spoofing{host, spoofHost(host), credentials, forged, want}
	}
	tokens := []string{"X-User", "X-Role", "X-Admin"}
	all := []spoofing{
		of("tokens", []string{token(0, "a")}, `"X-User":["ali"]`, tokens...),
		of("tokens", []string{token(1, "b")}, `"X-Admin":["ali"]`, tokens...),
		of("optional-tokens", nil, "", tokens...),
		of("optional-tokens", []string{token(0, "a")}, `"X-User":["ali"]`, tokens...),
		of("any-tokens", []string{"Authorization: Bearer e30.e30.e30"}, "", tokens...),
		of("users", []string{name}, `"X-Name":["ali"]`, "X-Name"),
		of("keys", []string{key}, `"X-Client":["one"]`, "X-Client"),
		of("asks", []string{"Authorization: good"}, `"X-Person":["ali"]`, "X-Person", "X-Team"),
		of("asks-no-server", nil, "", "X-Person", "X-Team"),
		of("filter-asks", []string{"Authorization: good"}, `"X-Person":["ali"]`, "X-Person", "X-Team"),
		of("any-of", []string{name}, `"X-Name":["ali"]`, append(tokens, "X-Name", "X-Client")...),
		of("any-of", []string{key}, `"X-Client":["one"]`, append(tokens, "X-Name", "X-Client")...),
		of("any-of", []string{token(0, "a")}, `"X-User":["ali"]`, append(tokens, "X-Name", "X-Client")...),
		of("credential", nil, `"Authorization":["injected"]`, "Authorization"),
		of("log-in", []string{"Cookie: " + w.logIn(t)}, "", "X-Identity"),
	}
	for _, s := range all {
		w.waitAllowed(t, s)
	}
	return all
}

// promoted has a client claim to be another, for which there is a rule, and counts the requests that get what is for the other.
func (w *spoofFixture) promoted(t *testing.T) (attempts, accepted int) {
	t.Helper()
	plan := func(name string) []string {
		return []string{"Authorization: " + w.signers[0].Bearer(map[string]any{"iss": "a", "sub": "ali", "plan": name})}
	}
	for _, c := range []struct {
		host, header, value string
		own, good           []string
		want                string
	}{
		{"key-rules", "X-Client", "one", []string{"X-Key: k2"}, []string{"X-Key: k1"}, `"X-Client":["one"]`},
		{"plans", "X-Plan", "gold", plan("free"), plan("gold"), `"X-Rule":["gold"]`},
		{"plans", "X-Plan", "gold", plan(""), plan("gold"), `"X-Rule":["gold"]`},
	} {
		w.waitAllowed(t, spoofing{what: c.host, host: spoofHost(c.host), credentials: c.good, want: c.want})
		for _, variant := range (spoofing{host: spoofHost(c.host), credentials: c.own, forged: []string{c.header}}).variants() {
			for i := range variant.forged {
				variant.forged[i] = strings.ReplaceAll(variant.forged[i], lie, c.value)
			}
			attempts++
			if status, body, err := variant.send(t.Context(), w.at(80)); err == nil && status == http.StatusOK && strings.Contains(body, c.want) {
				t.Errorf("%s: a client that sends %q has the backend see %s", c.host, variant.forged, body)
				accepted++
			}
		}
	}
	return attempts, accepted
}

// waitAllowed waits until a request without forged headers is answered by the backend.
func (w *spoofFixture) waitAllowed(t *testing.T, s spoofing) {
	t.Helper()
	live.Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
		honest := s
		honest.forged = nil
		status, body, err := honest.send(ctx, w.at(80))
		if err == nil && (status != http.StatusOK || !strings.Contains(body, s.want)) {
			err = fmt.Errorf("%s: answered %d %s, want %s", s.what, status, body, s.want)
		}
		return err
	})
}

// logIn is the session of a browser, at a provider that gives no token with an identity.
func (w *spoofFixture) logIn(t *testing.T) string {
	t.Helper()
	browser := &http.Client{
		Transport:     clock.Transport{Base: &http.Transport{DisableKeepAlives: true}, Limit: 10 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	visit := func(ctx context.Context, path, cookies string) (http.Header, string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.at(80)+path, http.NoBody)
		if err != nil {
			return nil, "", fmt.Errorf("make a request: %w", err)
		}
		request.Host = spoofHost("log-in")
		request.Header.Set("Cookie", cookies)
		response, err := browser.Do(request)
		if err != nil {
			return nil, "", fmt.Errorf("log in: %w", err)
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusFound {
			return nil, "", fmt.Errorf("%s is answered %s", path, response.Status)
		}
		var list []string
		for _, c := range response.Cookies() {
			list = append(list, c.Name+"="+c.Value)
		}
		return response.Header, strings.Join(list, "; "), nil
	}
	var session string
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		header, cookies, err := visit(ctx, "/", "")
		if err != nil {
			return err
		}
		location, err := url.Parse(header.Get("Location"))
		if err != nil {
			return fmt.Errorf("read the redirect: %w", err)
		}
		_, session, err = visit(ctx, "/oauth2/callback?code=good&state="+url.QueryEscape(location.Query().Get("state")), cookies)
		return err
	})
	return session
}
