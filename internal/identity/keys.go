package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

const (
	// KeysPath is where the API server publishes the keys by which tokens are signed.
	KeysPath = "/openid/v1/jwks"
	// keysPause is between two attempts to get the keys, so that forged tokens do not cause more.
	keysPause = 10 * time.Second
	// keysTimeout is how long they are waited for.
	keysTimeout = 5 * time.Second
	// maxKeys bounds the answer in bytes; a cluster has a few keys of some hundred bytes.
	maxKeys = 1 << 20
)

// KeySource gets the keys by which the tokens of the cluster are signed, as a JSON Web Key Set.
type KeySource func(ctx context.Context) ([]byte, error)

// PublishedKeys gets the keys from an address.
func PublishedKeys(client *http.Client, url string) KeySource {
	return func(ctx context.Context) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return nil, fmt.Errorf("ask for keys: %w", err)
		}
		response, err := client.Do(request)
		if err != nil {
			return nil, fmt.Errorf("ask for keys: %w", err)
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("ask for keys: %s", response.Status)
		}
		body, err := io.ReadAll(io.LimitReader(response.Body, maxKeys))
		if err != nil {
			return nil, fmt.Errorf("read keys: %w", err)
		}
		return body, nil
	}
}

// signature is what is known of that of a token.
type signature uint8

const (
	// unchecked means that the key is not known, which says nothing of the token: keys may be changing, or not be published.
	unchecked signature = iota
	genuine
	forged
)

// algorithms are those by which tokens of ServiceAccounts are signed.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512}

// keys checks signatures, so that the API server is not asked about tokens that anybody can make. That of a genuine token proves that there
// was a pod, and not that there is one; so those are reviewed all the same.
type keys struct {
	source KeySource
	now    func() time.Time
	log    *slog.Logger

	mu    sync.Mutex
	known jose.JSONWebKeySet
	// asked is when they were asked for last.
	asked time.Time
}

// check never waits: what it does not know yet is unchecked.
func (k *keys) check(token string) signature {
	if k.source == nil {
		return unchecked
	}
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return unchecked
	}
	candidates := k.candidates(signed.Signatures[0].Header.KeyID)
	for _, key := range candidates {
		if _, err := signed.Verify(key.Key); err == nil {
			return genuine
		}
	}
	// Another key may have come to have that name.
	k.refresh()
	if len(candidates) == 0 {
		return unchecked
	}
	return forged
}

func (k *keys) candidates(id string) []jose.JSONWebKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	if id == "" {
		return nil
	}
	return k.known.Key(id)
}

// refresh gets the keys anew, unless that was tried a moment ago.
func (k *keys) refresh() {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if !k.asked.IsZero() && now.Sub(k.asked) < keysPause {
		return
	}
	k.asked = now
	go k.fetch()
}

func (k *keys) fetch() {
	ctx, cancel := context.WithTimeout(context.Background(), keysTimeout)
	defer cancel()
	body, err := k.source(ctx)
	var fetched jose.JSONWebKeySet
	if err == nil {
		err = json.Unmarshal(body, &fetched)
	}
	if err != nil {
		k.log.Debug("the keys of tokens can not be had, the API server is asked about each token", "error", err)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known = fetched
}
