//go:build fault

package fault

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/gatewright/gatewright/test/clock"
)

// TestCase48ForgedTokens calls the xDS server from inside the cluster with tokens that are well formed and not signed by the
// cluster, as many a second as it can, up to thousands. Half of the callers keep their connections, half connect again after a few calls.
// A proxy that starts meanwhile is let in and serves soon, and the controllers do not grow.
//
//nolint:paralleltest // it looks at the memory of the controllers
func TestCase48ForgedTokens(t *testing.T) {
	const callers = 16
	c := begin(t, "48", "forged tokens")
	w := newFixture(t)
	// Go collects garbage when the heap has doubled, and gives memory back later. Routes that come and go bring the controllers to where
	// they stay, as in case 47: what counts is what the callers add.
	w.slowestBeside(t, "before", span(time.Minute, 20*time.Second))
	alone := w.newGatewayServes(t, "alone")
	memory := w.watchMemory(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	f := &forger{at: w.door(t), start: time.Now()}
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			for ctx.Err() == nil {
				f.onOneConnection(ctx, t, i%2 == 0)
			}
		})
	}
	time.Sleep(5 * time.Second)
	// The callers take all the cores they are given, so the start of a proxy takes longer for them alone.
	c.tookOf(w.newGatewayServes(t, "honest"), "a new proxy serves after", max(10*time.Second, 3*alone))
	c.note("%s without the callers", rounded(alone))
	time.Sleep(span(30*time.Second, 5*time.Second))
	took := time.Since(f.start)
	cancel()
	group.Wait()
	c.note("%s forged tokens, %.0f a second", grouped(int(f.calls.Load())), float64(f.calls.Load())/took.Seconds())
	memory.report(c)
}

// newGatewayServes is how long a new Gateway takes to serve a route.
func (w *fixture) newGatewayServes(t *testing.T, name string) time.Duration {
	t.Helper()
	start := clock.Now()
	address := w.Gateway(t, name)
	w.Route(t, name, name, name+".example.com", serviceName)
	w.waitHost(t, address, name+".example.com")
	return clock.Since(start)
}

// forger makes calls with forged tokens.
type forger struct {
	at    door
	start time.Time
	calls atomic.Int64
}

// onOneConnection makes calls for as long as the context lasts, or only a few.
func (f *forger) onOneConnection(ctx context.Context, t *testing.T, stays bool) {
	t.Helper()
	const wanted, few = 5000, 4
	ctx, end := context.WithCancel(ctx)
	defer end()
	connection := f.at.dial(ctx, t)
	for i := 0; ctx.Err() == nil && (stays || i < few); i++ {
		one, done := context.WithTimeout(ctx, time.Second)
		stream, err := connection.NewStream(metadata.AppendToOutgoingContext(one, "authorization", "Bearer "+forged(t)),
			&grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, deltaCall)
		if err == nil {
			_ = stream.CloseSend()
			f.calls.Add(1)
		}
		// The call is left to itself, so that the next one need not wait for its answer.
		time.AfterFunc(time.Second, done)
		time.Sleep(time.Until(f.start.Add(time.Duration(f.calls.Load()) * time.Second / wanted)))
	}
}

// forged is a token that says all that one of a proxy says, and is not signed by the cluster.
func forged(t *testing.T) string {
	t.Helper()
	part := func(value any) string {
		text, err := json.Marshal(value)
		if err != nil {
			t.Error(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	random := make([]byte, 256)
	_, _ = rand.Read(random)
	now := time.Now()
	claims := map[string]any{
		"aud": []string{xdsAudience}, "exp": now.Add(time.Hour).Unix(), "iat": now.Unix(), "nbf": now.Unix(),
		"iss": "https://kubernetes.default.svc.cluster.local",
		"jti": fmt.Sprintf("%x", random[:16]), "sub": "system:serviceaccount:shop:edge",
		"kubernetes.io": map[string]any{
			"namespace": "shop", "pod": map[string]string{"name": "edge", "uid": fmt.Sprintf("%x", random[16:32])},
			"serviceaccount": map[string]string{"name": "edge", "uid": "1"},
		},
	}
	return part(map[string]string{
		"alg": "RS256", "kid": fmt.Sprintf("%x", random[:8]),
	}) + "." + part(claims) + "." + base64.RawURLEncoding.EncodeToString(random)
}

// door is where callers connect to the control plane.
type door struct {
	address string
	config  *tls.Config
}

func (w *fixture) door(t *testing.T) door {
	t.Helper()
	address, config := w.trust(t)
	return door{address, config}
}

// dial connects until the context ends.
func (d door) dial(ctx context.Context, t *testing.T) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient(d.address, grpc.WithTransportCredentials(credentials.NewTLS(d.config)))
	if err != nil {
		t.Error(err)
		return nil
	}
	context.AfterFunc(ctx, func() { _ = connection.Close() })
	return connection
}
