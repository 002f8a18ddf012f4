package identity

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

const audience = "gatewright.dev/xds"

var (
	system = ServiceAccount{Namespace: "gatewright-system", Name: "gatewright"}
	edge   = ServiceAccount{Namespace: "shop", Name: "edge-gatewright"}
	counts = ServiceAccount{Namespace: "gatewright-system", Name: "gatewright-ratelimit"}
)

// issuer is an API server that knows the tokens it has made.
type issuer struct {
	mu      sync.Mutex
	reviews map[string]Review
	asked   int
	down    error
	hold    chan struct{}
}

// token makes one that says these claims of itself, whatever the review says.
func (i *issuer) token(review Review, expires time.Time, audiences string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	claims := fmt.Sprintf(`{"aud":%s,"exp":%d}`, audiences, expires.Unix())
	token := "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + fmt.Sprintf(".%d", len(i.reviews))
	i.reviews[token] = review
	return token
}

func (i *issuer) good(account ServiceAccount, pod string) string {
	return i.token(Review{Account: account, Pod: pod}, time.Now().Add(time.Hour), `["`+audience+`"]`)
}

func (i *issuer) Review(ctx context.Context, token, _ string) (Review, error) {
	i.mu.Lock()
	i.asked++
	review, ok := i.reviews[token]
	down, hold := i.down, i.hold
	i.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return Review{}, ctx.Err()
		}
	}
	if down != nil {
		return Review{}, down
	}
	if !ok {
		return Review{Rejection: "the API server does not accept the token: it is not known"}, nil
	}
	return review, nil
}

func (i *issuer) fail(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = err
}

func (i *issuer) withdraw(token string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.reviews, token)
}

// count is how often it was asked since the last time.
func (i *issuer) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	asked := i.asked
	i.asked = 0
	return asked
}

func newVerifier() (*Verifier, *issuer) {
	api := &issuer{reviews: map[string]Review{}}
	fleets := NewFleets(system.Namespace)
	fleets.Serve(ir.Name{Namespace: "shop", Name: "edge"}, "uid-1", edge)
	fleets.Run(edge, Owner{Gateway: ir.Name{Namespace: "shop", Name: "edge"}, UID: "uid-1"})
	return New(
		Config{
			Reviewer: api, Audience: audience, Peers: system, RateLimits: counts, Fleets: fleets, Now: time.Now,
			Log: slog.New(slog.DiscardHandler),
		},
	), api
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	proxy := Review{Account: edge, Pod: "edge-1"}
	ours, hour := `["`+audience+`"]`, time.Hour
	tests := []struct {
		name     string
		token    func(*issuer) string
		want     xds.Identity
		code     codes.Code
		says     string
		unlooked bool
	}{
		{
			name: "a proxy is known by its ServiceAccount and pod", token: func(i *issuer) string { return i.good(edge, "edge-1") },
			want: xds.Identity{Group: xds.GroupID{Namespace: "shop", Name: "edge"}, Pod: "edge-1"},
		},
		{
			name: "a replica of the control plane is a peer", token: func(i *issuer) string { return i.good(system, "gatewright-1") },
			want: xds.Identity{Pod: "gatewright-1"},
		},
		{
			name:  "the rate limit service is known by its ServiceAccount",
			token: func(i *issuer) string { return i.good(counts, "gatewright-ratelimit-1") },
			want:  xds.Identity{Group: xds.GroupID(ir.RateLimitService), Pod: "gatewright-ratelimit-1"},
		},
		{
			name:  "a ServiceAccount of the rate limit service's name in another namespace",
			token: func(i *issuer) string { return i.good(ServiceAccount{Namespace: "evil", Name: counts.Name}, "x") },
			code:  codes.PermissionDenied, says: "evil/gatewright-ratelimit",
		},
		{
			name:  "one audience may be written as a string",
			token: func(i *issuer) string { return i.token(proxy, time.Now().Add(hour), `"`+audience+`"`) },
			want:  xds.Identity{Group: xds.GroupID{Namespace: "shop", Name: "edge"}, Pod: "edge-1"},
		},
		{
			name: "no token", token: func(*issuer) string { return "" }, code: codes.Unauthenticated, says: "there is no token; send",
			unlooked: true,
		},
		{
			name: "something else than a token", token: func(*issuer) string { return "hunter2" }, code: codes.Unauthenticated,
			says: "not one of a ServiceAccount", unlooked: true,
		},
		{
			name: "a token that is far too long", token: func(*issuer) string { return strings.Repeat("x", maxToken+1) },
			code: codes.Unauthenticated, says: "too long", unlooked: true,
		},
		{name: "a token for the API server", token: func(i *issuer) string {
			return i.token(proxy, time.Now().Add(hour), `["https://kubernetes.default.svc"]`)
		}, code: codes.Unauthenticated, says: `project one for "gatewright.dev/xds"`, unlooked: true},
		{
			name: "an expired token", token: func(i *issuer) string { return i.token(proxy, time.Now().Add(-time.Second), ours) },
			code: codes.Unauthenticated, says: "expired at", unlooked: true,
		},
		{
			name: "a forged token", token: func(i *issuer) string { return i.good(edge, "x") + "forged" }, code: codes.Unauthenticated,
			says: "it is not known",
		},
		{
			name:  "a ServiceAccount that runs no proxies",
			token: func(i *issuer) string { return i.good(ServiceAccount{Namespace: "shop", Name: "default"}, "x") }, code: codes.PermissionDenied,
			says: "ServiceAccount shop/default runs no proxies",
		},
		{
			name:  "a ServiceAccount of a fleet's name in another namespace",
			token: func(i *issuer) string { return i.good(ServiceAccount{Namespace: "evil", Name: "edge-gatewright"}, "x") },
			code:  codes.PermissionDenied, says: "evil/edge-gatewright",
		},
		{
			name:  "a ServiceAccount of the control plane's name in another namespace",
			token: func(i *issuer) string { return i.good(ServiceAccount{Namespace: "evil", Name: "gatewright"}, "x") },
			code:  codes.PermissionDenied, says: "evil/gatewright",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			verifier, api := newVerifier()
			token := test.token(api)
			proof, err := verifier.Authenticate(t.Context(), token)
			if status.Code(err) != test.code || proof.Identity != test.want || !strings.Contains(status.Convert(err).Message(), test.says) {
				t.Errorf("got %+v, %v; want %+v, %s with %q", proof, err, test.want, test.code, test.says)
			}
			if test.unlooked && api.count() > 0 {
				t.Error("the API server was asked")
			}
			if token != "" && err != nil && strings.Contains(err.Error(), token) {
				t.Error("the error holds the token")
			}
		})
	}
}

func TestTheProofOfAProxyNamesTheOwnerOfItsFleet(t *testing.T) {
	t.Parallel()
	verifier, api := newVerifier()
	for account, want := range map[ServiceAccount]string{edge: "uid-1", system: "", counts: ""} {
		if proof, err := verifier.Authenticate(t.Context(), api.good(account, "x")); err != nil || proof.Owner != want {
			t.Errorf("%s: the owner is %q, %v; want %q", account, proof.Owner, err, want)
		}
	}
}

func TestReviewsAreRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		verifier, api := newVerifier()
		token := api.good(edge, "edge-1")
		try := func(what string, want codes.Code, asked int) {
			t.Helper()
			if _, err := verifier.Authenticate(t.Context(), token); status.Code(err) != want {
				t.Errorf("%s: got %v, want %s", what, err, want)
			}
			if got := api.count(); got != asked {
				t.Errorf("%s: the API server was asked %d times, want %d", what, got, asked)
			}
		}
		try("a new token", codes.OK, 1)
		time.Sleep(freshFor - time.Second)
		try("a fresh one", codes.OK, 0)
		time.Sleep(time.Second)
		try("one that is not", codes.OK, 1)

		api.fail(errors.New("no route to host"))
		time.Sleep(30 * time.Minute)
		try("a known one without the API server", codes.OK, 1)
		known := token
		token = api.good(edge, "edge-2")
		try("an unknown one without the API server", codes.Unavailable, 1)
		token = known
		time.Sleep(30 * time.Minute)
		try("a known one at its end", codes.Unauthenticated, 0)

		api.fail(nil)
		token = api.good(edge, "edge-3")
		try("another", codes.OK, 1)
		api.withdraw(token)
		time.Sleep(freshFor)
		try("one that was withdrawn", codes.Unauthenticated, 1)
		try("a refused one", codes.Unauthenticated, 0)
		time.Sleep(rejectedFor)
		try("a refused one a little later", codes.Unauthenticated, 1)
		api.fail(errors.New("no route to host"))
		time.Sleep(rejectedFor)
		try("a refused one without the API server", codes.Unavailable, 1)
	})
}

func TestAKnownTokenDoesNotWaitForAnAPIServerThatIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		verifier, api := newVerifier()
		token := api.good(edge, "edge-1")
		if _, err := verifier.Authenticate(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		time.Sleep(freshFor)
		api.hold = make(chan struct{})
		for _, c := range []struct {
			name  string
			token string
			want  codes.Code
			wait  time.Duration
		}{
			{"an unknown token", api.good(edge, "edge-2"), codes.Unavailable, reviewTimeout},
			{"another unknown token", api.good(edge, "edge-3"), codes.Unavailable, reviewTimeout},
			{"a third one", api.good(edge, "edge-4"), codes.Unavailable, reviewTimeout},
			{"one when several had no answer", api.good(edge, "edge-5"), codes.Unavailable, failingTimeout},
			{"a known token", token, codes.OK, reviewWait},
		} {
			start := time.Now()
			if _, err := verifier.Authenticate(t.Context(), c.token); status.Code(err) != c.want || time.Since(start) != c.wait {
				t.Errorf("%s: got %v after %s, want %s after %s", c.name, err, time.Since(start), c.want, c.wait)
			}
		}
		time.Sleep(reviewTimeout)
	})
}

func TestAProofEndsWithItsToken(t *testing.T) {
	t.Parallel()
	verifier, api := newVerifier()
	end := time.Now().Add(17 * time.Minute).Truncate(time.Second)
	proof, err := verifier.Authenticate(t.Context(), api.token(Review{Account: edge, Pod: "edge-1"}, end, `["`+audience+`"]`))
	if err != nil || !proof.Expires.Equal(end) {
		t.Errorf("got %s, %v; want %s", proof.Expires, err, end)
	}
}

func TestManyCallersCostOneReview(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		verifier, api := newVerifier()
		token := api.good(edge, "edge-1")
		api.hold = make(chan struct{})
		impatient, leave := context.WithCancel(t.Context())
		go func() { _, _ = verifier.Authenticate(impatient, token) }()
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				if _, err := verifier.Authenticate(t.Context(), token); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		close(api.hold)
		callers.Wait()
		if asked := api.count(); asked != 1 {
			t.Errorf("the API server was asked %d times", asked)
		}
	})
}

func TestAFloodIsNotPassedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		verifier, api := newVerifier()
		api.hold = make(chan struct{})
		for i := range 200 {
			go func() { _, _ = verifier.Authenticate(t.Context(), api.good(edge, fmt.Sprint(i))) }()
		}
		synctest.Wait()
		if asked := api.count(); asked != maxReviews {
			t.Errorf("%d reviews are under way, want %d", asked, maxReviews)
		}
		time.Sleep(2 * reviewTimeout) // for a slot, and for an answer
		synctest.Wait()
		if waiting := verifier.reviews.checked.count + verifier.reviews.unchecked.count; waiting != 0 {
			t.Errorf("%d are still waited for", waiting)
		}
	})
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		limit int
		as    Review
	}{
		{"accepted", maxAccepted, Review{Account: edge}},
		{"refused", maxRejected, Review{Rejection: "no"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newReviews(Config{Now: time.Now})
			end := time.Now().Add(time.Hour)
			token := func(i int) (k key) {
				copy(k[:], strconv.Itoa(i))
				return k
			}
			for i := range test.limit + 2 {
				r.remember(token(i), test.as, end)
				r.known(token(0)) // used all the time
			}
			if got := len(r.accepted.Keys()) + len(r.rejected.Keys()); got != test.limit {
				t.Errorf("%d are remembered, want %d", got, test.limit)
			}
			for i, want := range map[int]bool{0: true, 1: false, 2: false, 3: true, test.limit + 1: true} {
				if _, got := r.known(token(i)); got != want {
					t.Errorf("%d is remembered: %v, want %v", i, got, want)
				}
			}
		})
	}
}

func TestNothingIsRememberedBeyondItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReviews(Config{Now: time.Now})
		end := time.Now().Add(time.Hour)
		r.remember(key{1}, Review{Account: edge}, end)
		r.remember(key{2}, Review{Rejection: "no"}, end)
		remembered := func(want1, want2 bool) {
			t.Helper()
			_, got1 := r.known(key{1})
			_, got2 := r.known(key{2})
			if got1 != want1 || got2 != want2 {
				t.Errorf("the accepted one is remembered: %v, want %v; the refused one: %v, want %v", got1, want1, got2, want2)
			}
		}
		time.Sleep(rejectedFor - time.Nanosecond)
		remembered(true, true)
		time.Sleep(time.Nanosecond)
		remembered(true, false)
		time.Sleep(time.Until(end) - time.Nanosecond)
		remembered(true, false)
		time.Sleep(time.Nanosecond)
		remembered(false, false)
	})
}
