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

	"github.com/gatewright/gatewright/internal/xds"
)

// maxToken is more than any service account token has; what is longer is not looked at.
const maxToken = 16 << 10

// Config is what a [Verifier] works with.
type Config struct {
	Reviewer Reviewer
	// Audience is what a token must have been made for, so that one that was made for anything else opens nothing here.
	Audience string
	// Peers is the ServiceAccount of the control plane itself.
	Peers  ServiceAccount
	Fleets *Fleets
	// Keys gets the keys by which tokens are signed. Without it the API server is asked about every token.
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

// New makes a verifier that remembers nothing yet.
func New(config Config) *Verifier {
	v := &Verifier{Config: config, reviews: newReviews(config), keys: &keys{source: config.Keys, now: config.Now, log: config.Log}}
	if config.Keys != nil {
		v.keys.refresh()
	}
	return v
}

// Authenticate says whose a token is. Which Gateway that means is asked anew each time.
func (v *Verifier) Authenticate(ctx context.Context, token string) (xds.Proof, error) {
	expires, refusal := v.glance(token)
	if refusal != "" {
		return xds.Proof{}, status.Error(codes.Unauthenticated, refusal)
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
		return xds.Proof{}, status.Error(codes.Unavailable, "the API server can not be asked about the token now; try again")
	}
	if review.Refusal != "" {
		return xds.Proof{}, status.Error(codes.Unauthenticated, review.Refusal)
	}
	identity := xds.Identity{Pod: review.Pod}
	if review.Account != v.Peers {
		gateway, ok := v.Fleets.gateway(review.Account)
		if !ok {
			return xds.Proof{}, status.Errorf(codes.PermissionDenied,
				"ServiceAccount %s runs no proxies of a Gateway that Gatewright serves", review.Account)
		}
		identity.Gateway = gateway.String()
	}
	return xds.Proof{Identity: identity, Node: review.Node, Expires: expires}, nil
}

// glance refuses what needs no review, and reads when the token ends.
func (v *Verifier) glance(token string) (expires time.Time, refusal string) {
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
