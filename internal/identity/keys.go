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
	// KeysPath is where the API server publishes the keys that sign tokens.
	KeysPath = "/openid/v1/jwks"
	// keysPause is the minimum time between two requests for the keys, so that forged tokens do not cause more.
	keysPause = 10 * time.Second
	// keysTimeout is the timeout of such a request.
	keysTimeout = 5 * time.Second
	// maxKeys bounds the answer in bytes; a cluster has a few keys of some hundred bytes.
	maxKeys = 1 << 20
)

// KeySource returns the keys that sign the tokens of the cluster, as a JSON Web Key Set.
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

// signature is the result of checking the signature of a token.
type signature uint8

const (
	// unchecked means that the key is not known. The token may be valid: keys may be changing, or not be published.
	unchecked signature = iota
	genuine
	forged
)

// algorithms are those that sign tokens of ServiceAccounts.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512}

// keys checks signatures, so that the API server does not review forged tokens. A genuine signature proves that there was a pod, not that
// there still is one, so genuine tokens are reviewed too.
type keys struct {
	source KeySource
	now    func() time.Time
	log    *slog.Logger

	mu    sync.Mutex
	known jose.JSONWebKeySet
	// asked is the time of the last request.
	asked time.Time
}

// check never waits: a token is unchecked while its key is not known.
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
	// There may be another key of that name by now.
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

// refresh requests the keys, unless it has done so a moment ago.
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
		k.log.Debug("cannot fetch the keys of tokens, the API server reviews each token", "error", err)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known = fetched
}
