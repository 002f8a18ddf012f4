package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// maxToken is longer than any service account token. Longer ones are rejected unread.
const maxToken = 16 << 10

// Config configures a [Verifier].
type Config struct {
	Reviewer Reviewer
	// Audience is the audience that a token must have.
	Audience string
	// Peers is the ServiceAccount of the control plane itself.
	Peers ServiceAccount
	// RateLimits is the ServiceAccount of the rate limit service, zero if there is none.
	RateLimits ServiceAccount
	Fleets     *Fleets
	// Keys returns the keys that sign tokens. Without it the API server reviews every token.
	Keys KeySource
	Now  func() time.Time
	Log  *slog.Logger
}

// Verifier is an [xds.Authenticator].
type Verifier struct {
	Config
	reviews *reviews
	keys    *keys
}

var _ xds.Authenticator = (*Verifier)(nil)

// New returns a Verifier with empty caches.
func New(config Config) *Verifier {
	v := &Verifier{Config: config, reviews: newReviews(config), keys: &keys{source: config.Keys, now: config.Now, log: config.Log}}
	if config.Keys != nil {
		v.keys.refresh()
	}
	return v
}

// Authenticate returns the identity of the owner of a token. The Gateway is looked up each time.
func (v *Verifier) Authenticate(ctx context.Context, token string) (xds.Proof, error) {
	expires, rejection := v.precheck(token)
	if rejection != "" {
		return xds.Proof{}, status.Error(codes.Unauthenticated, rejection)
	}
	checked := v.keys.check(token)
	if checked == forged {
		return xds.Proof{}, status.Error(codes.Unauthenticated, "the token was not signed by this cluster")
	}
	review, err := v.reviews.of(ctx, token, checked == genuine, expires)
	if errors.Is(err, errFull) {
		return xds.Proof{}, status.Error(codes.Unavailable, "too many callers wait for the API server; try again")
	}
	if err != nil {
		return xds.Proof{}, status.Error(codes.Unavailable, "the API server cannot review the token now; try again")
	}
	if review.Rejection != "" {
		return xds.Proof{}, status.Error(codes.Unauthenticated, review.Rejection)
	}
	proof := xds.Proof{Identity: xds.Identity{Pod: review.Pod}, Node: review.Node, Expires: expires}
	switch review.Account {
	case v.Peers:
	case v.RateLimits:
		proof.Group = xds.GroupID(ir.RateLimitService)
	default:
		owner, ok := v.Fleets.owner(review.Account)
		if !ok {
			return xds.Proof{}, status.Errorf(codes.PermissionDenied,
				"ServiceAccount %s runs no proxies of a Gateway that Gatewright serves", review.Account)
		}
		proof.Group, proof.Owner = xds.GroupID(owner.Gateway), owner.UID
	}
	return proof, nil
}

// precheck rejects tokens that need no review, and returns the expiry.
func (v *Verifier) precheck(token string) (expires time.Time, rejection string) {
	if token == "" {
		return time.Time{}, fmt.Sprintf("there is no token; send `authorization: Bearer <service account token for audience %s>`", v.Audience)
	}
	if len(token) > maxToken {
		return time.Time{}, "the token is too long for one of a ServiceAccount"
	}
	said, err := readClaims(token)
	switch {
	case err != nil:
		return time.Time{}, "the token is not one of a ServiceAccount"
	case !contains(said.audiences, v.Audience):
		return time.Time{}, wrongAudience(said.audiences, v.Audience)
	case !said.expires.After(v.Now()):
		return time.Time{}, fmt.Sprintf("the token expired at %s; send the current one", said.expires.UTC().Format(time.RFC3339))
	}
	return said.expires, ""
}

func contains(audiences []string, audience string) bool { return slices.Contains(audiences, audience) }

func wrongAudience(audiences []string, audience string) string {
	return fmt.Sprintf("the token is for audience %.100q; project one for %q", strings.Join(audiences, ", "), audience)
}
