package identity

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reviewer asks somebody who knows about a token. An error means that there was no answer.
type Reviewer interface {
	Review(ctx context.Context, token, audience string) (Review, error)
}

// Review is what is known of a token.
type Review struct {
	// Account is whose it is, Pod the name of the one pod that may use it, and Node that of its node, empty if the cluster does not say.
	Account   ServiceAccount
	Pod, Node string
	// Refusal says why the token proves nothing; empty if it does.
	Refusal string
}

// ServiceAccount is the name of one.
type ServiceAccount struct{ Namespace, Name string }

func (s ServiceAccount) String() string { return s.Namespace + "/" + s.Name }

// APIServer reviews tokens by TokenReview.
type APIServer struct{ Client client.Client }

// What the API server says of a token that is bound to a pod.
const (
	podNameExtra = "authentication.kubernetes.io/pod-name"
	podUIDExtra  = "authentication.kubernetes.io/pod-uid"
	// Kubernetes says it since 1.30.
	nodeNameExtra = "authentication.kubernetes.io/node-name"

	accountPrefix = "system:serviceaccount:"
)

// Review implements [Reviewer].
func (a APIServer) Review(ctx context.Context, token, audience string) (Review, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}}}
	if err := a.Client.Create(ctx, review); err != nil {
		return Review{}, fmt.Errorf("asking the API server about a token: %w", err)
	}
	return judge(&review.Status, audience), nil
}

// judge takes from the answer what a token must prove: that it was made for us, for a ServiceAccount, and for one pod that exists.
func judge(answer *authenticationv1.TokenReviewStatus, audience string) Review {
	if !answer.Authenticated {
		reason := answer.Error
		if reason == "" {
			reason = "it is not known"
		}
		return Review{Refusal: "the API server does not accept the token: " + reason}
	}
	if !contains(answer.Audiences, audience) {
		return Review{Refusal: wrongAudience(answer.Audiences, audience)}
	}
	namespace, name, ok := strings.Cut(strings.TrimPrefix(answer.User.Username, accountPrefix), ":")
	if !strings.HasPrefix(answer.User.Username, accountPrefix) || !ok {
		return Review{Refusal: "the token is not that of a ServiceAccount"}
	}
	pods, uids := answer.User.Extra[podNameExtra], answer.User.Extra[podUIDExtra]
	if len(pods) != 1 || pods[0] == "" || len(uids) != 1 || uids[0] == "" {
		return Review{Refusal: "the token is not bound to a pod; use one that is projected into the pod"}
	}
	review := Review{Account: ServiceAccount{Namespace: namespace, Name: name}, Pod: pods[0]}
	if nodes := answer.User.Extra[nodeNameExtra]; len(nodes) == 1 {
		review.Node = nodes[0]
	}
	return review
}
