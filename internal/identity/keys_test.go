package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// signer signs tokens under the name of its key.
type signer struct {
	id  string
	key *ecdsa.PrivateKey
}

func newSigner(t *testing.T, id string) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{id, key}
}

// token is one of a proxy, which the API server accepts if it is genuine.
func (s signer) token(t *testing.T, api *issuer, pod string, genuine bool) string {
	t.Helper()
	with := (&jose.SignerOptions{}).WithHeader("kid", s.id)
	signing, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: s.key}, with)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signing.Sign(fmt.Appendf(nil, `{"aud":[%q],"exp":%d,"pod":%q}`, audience, time.Now().Add(time.Hour).Unix(), pod))
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	if genuine {
		api.mu.Lock()
		defer api.mu.Unlock()
		api.reviews[token] = Review{Account: edge, Pod: pod}
	}
	return token
}

// published are the keys that an API server shows.
type published struct {
	mu    sync.Mutex
	set   jose.JSONWebKeySet
	err   error
	asked int
}

func (p *published) show(signers ...signer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set = jose.JSONWebKeySet{}
	for _, s := range signers {
		p.set.Keys = append(p.set.Keys, jose.JSONWebKey{Key: s.key.Public(), KeyID: s.id, Algorithm: "ES256", Use: "sig"})
	}
}

func (p *published) get(context.Context) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	body, err := json.Marshal(p.set)
	return body, errors.Join(err, p.err)
}

func newChecking(t *testing.T, p *published) (*Verifier, *issuer) {
	t.Helper()
	verifier, api := newVerifier()
	config := verifier.Config
	config.Keys = p.get
	return New(config), api
}

func TestSignaturesAreCheckedBeforeTheAPIServerIsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cluster, attacker := newSigner(t, "a"), newSigner(t, "a")
		p := &published{}
		p.show(cluster)
		verifier, api := newChecking(t, p)
		synctest.Wait()
		for _, c := range []struct {
			name  string
			token string
			want  codes.Code
			asked int
		}{
			{"a genuine token", cluster.token(t, api, "edge-1", true), codes.OK, 1},
			{"a forged one", attacker.token(t, api, "edge-1", false), codes.Unauthenticated, 0},
			{"one whose pod is gone", cluster.token(t, api, "edge-2", false), codes.Unauthenticated, 1},
			{"one by a key that is not known", newSigner(t, "b").token(t, api, "edge-3", true), codes.OK, 1},
		} {
			if _, err := verifier.Authenticate(t.Context(), c.token); status.Code(err) != c.want {
				t.Errorf("%s: got %v, want %s", c.name, err, c.want)
			}
			if asked := api.count(); asked != c.asked {
				t.Errorf("%s: the API server was asked %d times, want %d", c.name, asked, c.asked)
			}
		}
	})
}

func TestKeysThatChangeRejectNoValidToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		before, after, reused := newSigner(t, "a"), newSigner(t, "b"), newSigner(t, "a")
		p := &published{err: errors.New("forbidden")}
		verifier, api := newChecking(t, p)
		synctest.Wait()
		try := func(what string, s signer, pod string, want codes.Code, checked signature) {
			t.Helper()
			token := s.token(t, api, pod, true)
			if _, err := verifier.Authenticate(t.Context(), token); status.Code(err) != want {
				t.Errorf("%s: got %v, want %s", what, err, want)
			}
			synctest.Wait()
			if got := verifier.keys.check(token); got != checked {
				t.Errorf("%s: its signature is %d afterwards, want %d", what, got, checked)
			}
		}
		try("without keys", before, "edge-1", codes.OK, unchecked)
		p.err = nil
		p.show(before)
		try("a moment later", before, "edge-2", codes.OK, unchecked)
		time.Sleep(keysPause)
		try("when keys can be had", before, "edge-3", codes.OK, genuine)
		p.show(before, after)
		time.Sleep(keysPause)
		try("with a new key", after, "edge-4", codes.OK, genuine)
		p.show(reused)
		time.Sleep(keysPause)
		try("with a new key of an old name", reused, "edge-5", codes.Unauthenticated, genuine)
		try("the next time", reused, "edge-6", codes.OK, genuine)
		asked := p.asked
		for i := range 100 {
			_, _ = verifier.Authenticate(t.Context(), newSigner(t, fmt.Sprint(i)).token(t, api, "x", false))
		}
		synctest.Wait()
		if p.asked > asked+1 {
			t.Errorf("keys were asked for %d times", p.asked-asked)
		}
	})
}

// from is a call that comes from an address.
func from(ctx context.Context, address string) context.Context {
	return peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: net.ParseIP(address), Port: 1}})
}

func TestForgedTokensDelayNoGenuineOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cluster := newSigner(t, "a")
		p := &published{}
		p.show(cluster)
		verifier, api := newChecking(t, p)
		synctest.Wait()
		api.hold = make(chan struct{})
		flood := func(address string) (rejected int) {
			var mu sync.Mutex
			for i := range 200 {
				go func() {
					_, err := verifier.Authenticate(from(t.Context(), address), api.good(edge, fmt.Sprint(address, i)))
					if status.Code(err) == codes.Unavailable {
						mu.Lock()
						defer mu.Unlock()
						rejected++
					}
				}()
			}
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return rejected
		}
		if away := flood("10.0.0.1"); away != 200-maxOfSource {
			t.Errorf("of one address, %d are rejected", away)
		}
		if away := flood("10.0.0.2"); away != 200-maxOfSource {
			t.Errorf("of another address, %d are rejected", away)
		}
		flood("10.0.0.3")
		flood("10.0.0.4")
		if away := flood("10.0.0.5"); away != 200 || verifier.reviews.unchecked.count != maxUnchecked {
			t.Errorf("when there is no room, %d are rejected, and %d are waited for", away, verifier.reviews.unchecked.count)
		}
		if asked := api.count(); asked != maxReviews {
			t.Errorf("%d reviews are under way", asked)
		}
		honest := make(chan error)
		go func() {
			_, err := verifier.Authenticate(from(t.Context(), "10.0.0.1"), cluster.token(t, api, "edge-1", true))
			honest <- err
		}()
		synctest.Wait()
		if asked := api.count(); asked != 1 {
			t.Error("a genuine token waits for others")
		}
		close(api.hold)
		if err := <-honest; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if l := verifier.reviews.unchecked; l.count != 0 || len(l.bySource) != 0 {
			t.Errorf("%d are still counted", l.count)
		}
	})
}

func TestForgedTokensDoNotShortenTheTimeoutOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cluster := newSigner(t, "a")
		p := &published{}
		p.show(cluster)
		verifier, api := newChecking(t, p)
		synctest.Wait()
		api.hold = make(chan struct{})
		for i := range 2 * failuresInARow {
			_, _ = verifier.Authenticate(t.Context(), api.good(edge, fmt.Sprint(i)))
		}
		began := time.Now()
		_, err := verifier.Authenticate(t.Context(), cluster.token(t, api, "edge-1", true))
		if status.Code(err) != codes.Unavailable || time.Since(began) != reviewTimeout {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	})
}

func TestPublishedKeys(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != KeysPath {
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(`{"keys":[]}`))
	}))
	t.Cleanup(server.Close)
	if body, err := PublishedKeys(server.Client(), server.URL+KeysPath)(t.Context()); err != nil || string(body) != `{"keys":[]}` {
		t.Errorf("got %q, %v", body, err)
	}
	if _, err := PublishedKeys(server.Client(), server.URL)(t.Context()); err == nil {
		t.Error("a rejection is taken for keys")
	}
}
