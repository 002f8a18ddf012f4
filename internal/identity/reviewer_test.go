package identity

import (
	"context"
	"errors"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestTheAPIServersAnswer(t *testing.T) {
	t.Parallel()
	good := func() authenticationv1.TokenReviewStatus {
		return authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: []string{audience},
			User: authenticationv1.UserInfo{Username: "system:serviceaccount:shop:edge-gatewright", Extra: map[string]authenticationv1.ExtraValue{
				podNameExtra: {"edge-1"}, podUIDExtra: {"uid"},
			}},
		}
	}
	tests := []struct {
		name string
		edit func(*authenticationv1.TokenReviewStatus)
		want Review
	}{
		{"a token of a pod", func(*authenticationv1.TokenReviewStatus) {}, Review{Account: edge, Pod: "edge-1"}},
		{
			"a cluster that says on which node the pod runs", func(s *authenticationv1.TokenReviewStatus) {
				s.User.Extra[nodeNameExtra] = authenticationv1.ExtraValue{"node-1"}
			},
			Review{Account: edge, Pod: "edge-1", Node: "node-1"},
		},
		{
			"a token that is refused", func(s *authenticationv1.TokenReviewStatus) {
				*s = authenticationv1.TokenReviewStatus{Error: "token has been invalidated"}
			},
			Review{Rejection: "the API server does not accept the token: token has been invalidated"},
		},
		{
			"an API server that does not know audiences", func(s *authenticationv1.TokenReviewStatus) { s.Audiences = nil },
			Review{Rejection: `the token is for audience ""; project one for "gatewright.dev/xds"`},
		},
		{
			"a token of a user", func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "shop:edge-gatewright" },
			Review{Rejection: "the token is not that of a ServiceAccount"},
		},
		{
			"a token that any pod may use", func(s *authenticationv1.TokenReviewStatus) { s.User.Extra = nil },
			Review{Rejection: "the token is not bound to a pod; use one that is projected into the pod"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := review(t, func(r *authenticationv1.TokenReview) error {
				r.Status = good()
				test.edit(&r.Status)
				return nil
			})
			if err != nil || got != test.want {
				t.Errorf("got %+v, %v; want %+v", got, err, test.want)
			}
		})
	}
	if _, err := review(
		t, func(*authenticationv1.TokenReview) error { return errors.New("down") },
	); err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("got error %v", err)
	}
}

// review asks an API server that answers so.
func review(t *testing.T, answer func(*authenticationv1.TokenReview) error) (Review, error) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := authenticationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			r, ok := object.(*authenticationv1.TokenReview)
			if !ok || r.Spec.Token != "sesame" || len(r.Spec.Audiences) != 1 || r.Spec.Audiences[0] != audience {
				t.Errorf("asked with %+v", object)
			}
			return answer(r)
		},
	}).Build()
	return APIServer{Client: c}.Review(t.Context(), "sesame", audience)
}
