package authority

import (
	"bytes"
	"context"
	"crypto/x509"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gatewright/gatewright/internal/pki"
)

const system = "gatewright-system"

var lives = pki.Lifetimes{
	CA: 3 * time.Hour, Overlap: 90 * time.Minute, Learn: 15 * time.Minute, Server: 30 * time.Minute, Backdate: time.Minute,
}

func newRotator(c client.Client, log *slog.Logger) *CARotator {
	return &CARotator{Client: c, Reader: c, Namespace: system, Source: &Source{}, Lifetimes: lives, Now: time.Now, Log: log}
}

func newFollower(c client.Client) *Follower {
	return &Follower{Reader: c, Namespace: system, Source: &Source{}, Lifetimes: lives, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
}

func stored(t *testing.T, c client.Client) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: system, Name: SecretName}, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// run starts what a manager would, and ends it with the test.
func run(t *testing.T, runnables ...interface{ Start(context.Context) error }) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		synctest.Wait()
	})
	for _, runnable := range runnables {
		go func() {
			if err := runnable.Start(ctx); err != nil {
				t.Error(err)
			}
		}()
	}
	synctest.Wait()
}

func TestEveryReplicaFollowsTheLeaderThroughRotations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := fake.NewClientBuilder().Build()
		rotator, follower := newRotator(c, slog.New(slog.DiscardHandler)), newFollower(c)
		changes := 0
		follower.Source.OnChange(func() { changes++ })
		run(t, follower, rotator)
		for range 50 {
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			authority := follower.Source.Authority()
			if authority == nil {
				t.Fatal("the follower knows no authority")
			}
			certificate, err := rotator.Source.Authority().IssueServer(lives, time.Now(), "leader")
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(authority.Bundle())
			if _, err := certificate.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: time.Now()}); err != nil {
				t.Fatalf("the follower does not trust what the leader issues: %v", err)
			}
		}
		if changes < 8 {
			t.Errorf("the follower saw %d changes in eight hours, want a rotation every hour and a half", changes)
		}
	})
}

func TestRotator(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// before is what is in the cluster at first, if anything.
		before *corev1.Secret
		log    string
		kept   bool
	}{
		{name: "makes the Secret", kept: true},
		{name: "fills a Secret that is empty", before: &corev1.Secret{Data: map[string][]byte{"note": []byte("x")}}, kept: true},
		{
			name: "leaves a corrupt Secret alone and says so once", before: &corev1.Secret{Data: map[string][]byte{pki.BundleKey: []byte("x")}},
			log: pki.BundleKey + ": no PEM certificate",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				builder := fake.NewClientBuilder()
				if test.before != nil {
					test.before.ObjectMeta = metav1.ObjectMeta{Namespace: system, Name: SecretName}
					builder = builder.WithObjects(test.before)
				}
				c := builder.Build()
				logged := &strings.Builder{}
				rotator := newRotator(c, slog.New(slog.NewTextHandler(logged, nil)))
				run(t, rotator)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				authority, err := pki.Unmarshal(stored(t, c).Data)
				if kept := err == nil && authority != nil; kept != test.kept {
					t.Errorf("an authority is kept: %v (%v), want %v", kept, err, test.kept)
				}
				if (rotator.Source.Authority() != nil) != test.kept {
					t.Error("the source disagrees with the Secret")
				}
				if test.log != "" && strings.Count(logged.String(), test.log) != 1 {
					t.Errorf("logged %q, want %q once", logged, test.log)
				}
				if strings.Contains(logged.String(), "PRIVATE") {
					t.Error("a key was logged")
				}
			})
		})
	}
}

func TestASecretDeletedByMistakeComesBackAsItWas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := fake.NewClientBuilder().Build()
		run(t, newRotator(c, slog.New(slog.DiscardHandler)))
		before := stored(t, c)
		if err := c.Delete(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if !bytes.Equal(stored(t, c).Data[pki.BundleKey], before.Data[pki.BundleKey]) {
			t.Error("another authority took its place")
		}
	})
}

func TestTheSourceKeepsWhatItKnows(t *testing.T) {
	t.Parallel()
	authority, _, err := pki.Advance(nil, lives, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	data, err := authority.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	source := &Source{}
	if err := source.Update(data); err != nil {
		t.Fatal(err)
	}
	known := source.Authority()
	tests := []struct {
		name  string
		data  map[string][]byte
		fails bool
	}{
		{"when nothing changed", data, false},
		{"when the data is gone", nil, false},
		{"when the data is corrupt", map[string][]byte{pki.BundleKey: []byte("x")}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := source.Update(test.data); (err != nil) != test.fails {
				t.Errorf("got error %v", err)
			}
			if source.Authority() != known {
				t.Error("it changed")
			}
		})
	}
}
