package identity

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reviewer reviews tokens. An error means that there was no answer.
type Reviewer interface {
	Review(ctx context.Context, token, audience string) (Review, error)
}

// Review is the result of the review of a token.
type Review struct {
	// Account is the owner, Pod the name of the pod that the token is bound to, and Node its node, empty if the cluster does not report it.
	Account   ServiceAccount
	Pod, Node string
	// Rejection is why the token is not valid, empty if it is.
	Rejection string
}

// ServiceAccount is the name of one.
type ServiceAccount struct{ Namespace, Name string }

func (s ServiceAccount) String() string { return s.Namespace + "/" + s.Name }

// APIServer reviews tokens by TokenReview.
type APIServer struct{ Client client.Client }

// The keys by which the API server describes a token that is bound to a pod.
const (
	podNameExtra = "authentication.kubernetes.io/pod-name"
	podUIDExtra  = "authentication.kubernetes.io/pod-uid"
	// Since Kubernetes 1.30.
	nodeNameExtra = "authentication.kubernetes.io/node-name"

	accountPrefix = "system:serviceaccount:"
)

// Review implements [Reviewer].
func (a APIServer) Review(ctx context.Context, token, audience string) (Review, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}}}
	if err := a.Client.Create(ctx, review); err != nil {
		return Review{}, fmt.Errorf("asking the API server about a token: %w", err)
	}
	return evaluate(&review.Status, audience), nil
}

// evaluate checks that a token has our audience, and belongs to a ServiceAccount and to one pod that exists.
func evaluate(answer *authenticationv1.TokenReviewStatus, audience string) Review {
	if !answer.Authenticated {
		reason := answer.Error
		if reason == "" {
			reason = "it is not known"
		}
		return Review{Rejection: "the API server does not accept the token: " + reason}
	}
	if !contains(answer.Audiences, audience) {
		return Review{Rejection: wrongAudience(answer.Audiences, audience)}
	}
	namespace, name, ok := strings.Cut(strings.TrimPrefix(answer.User.Username, accountPrefix), ":")
	if !strings.HasPrefix(answer.User.Username, accountPrefix) || !ok {
		return Review{Rejection: "the token is not that of a ServiceAccount"}
	}
	pods, uids := answer.User.Extra[podNameExtra], answer.User.Extra[podUIDExtra]
	if len(pods) != 1 || pods[0] == "" || len(uids) != 1 || uids[0] == "" {
		return Review{Rejection: "the token is not bound to a pod; use one that is projected into the pod"}
	}
	review := Review{Account: ServiceAccount{Namespace: namespace, Name: name}, Pod: pods[0]}
	if nodes := answer.User.Extra[nodeNameExtra]; len(nodes) == 1 {
		review.Node = nodes[0]
	}
	return review
}
