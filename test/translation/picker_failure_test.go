//go:build translation

package translation

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/test/refuse"
)

// TestPickerFailures: without an answer of its picker, a pool that fails open is load balanced, and any other is closed.
func TestPickerFailures(t *testing.T) {
	t.Parallel()
	one, _ := model(t, "one")
	two, _ := model(t, "two")
	var now atomic.Pointer[choice]
	good := both(two)
	now.Store(&good)
	choose := func(http.Header) choice { return *now.Load() }
	shut := &inferencePool{name: "closed", servers: []string{one, two}, picker: newPicker(t, "closed", choose)}
	open := &inferencePool{name: "open", servers: []string{one, two}, picker: newPicker(t, "open", choose), failOpen: true}
	address := servePools(t, []*inferencePool{shut}, []*inferencePool{open})
	closedURL, openURL := "http://"+address, "http://"+address+"/1"
	check := func(what, url string, body []byte, want int) {
		t.Helper()
		if r, err := prompt(t, url, body); err != nil || r.status != want {
			t.Errorf("%s: %d, %v, want %d", what, r.status, err, want)
		}
	}
	for name, c := range map[string]struct {
		choice choice
		closed int
	}{
		"an answer":          {good, http.StatusOK},
		"an error":           {choice{fail: true}, http.StatusServiceUnavailable},
		"garbage":            {choice{garbage: true}, http.StatusServiceUnavailable},
		"no endpoints":       {choice{immediate: http.StatusServiceUnavailable}, http.StatusServiceUnavailable},
		"too much to do":     {choice{immediate: http.StatusTooManyRequests}, http.StatusTooManyRequests},
		"endpoints unknown":  {both(refuse.At(t, "127.0.0.1")), http.StatusServiceUnavailable},
		"no choice of a pod": {choice{}, http.StatusServiceUnavailable},
	} {
		now.Store(&c.choice)
		check(name+", FailClose, GET", closedURL, nil, c.closed)
		check(name+", FailClose, POST", closedURL, question, c.closed)
		opened := http.StatusOK
		if c.choice.immediate != 0 {
			opened = c.choice.immediate
		}
		check(name+", FailOpen, GET", openURL, nil, opened)
		if c.choice.fail || c.choice.garbage {
			// Envoy keeps no copy of a body that it has sent to a picker, so such a request cannot be sent anywhere else.
			opened = http.StatusServiceUnavailable
		}
		check(name+", FailOpen, POST", openURL, question, opened)
	}
	now.Store(&good)
	shut.picker.stop()
	open.picker.stop()
	check("killed, FailClose, GET", closedURL, nil, http.StatusServiceUnavailable)
	check("killed, FailClose, POST", closedURL, question, http.StatusServiceUnavailable)
	check("killed, FailOpen, GET", openURL, nil, http.StatusOK)
	check("killed, FailOpen, POST", openURL, question, http.StatusServiceUnavailable)
	shut.picker.start(t)
	open.picker.start(t)
	for _, url := range []string{closedURL, openURL} {
		for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			if r, err := prompt(t, url, question); err == nil && r.header.Get("x-model") == "two" && r.header.Get("x-picker") != "" {
				break
			}
			if time.Since(start) > timeout {
				t.Fatalf("the picker of %s is not asked after it came back", url)
			}
		}
	}
}

// TestPickerWithoutPods: a picker without ready pods is known to be missing before a body is sent, so that a pool that fails open is load
// balanced for every request.
func TestPickerWithoutPods(t *testing.T) {
	t.Parallel()
	one, _ := model(t, "one")
	two, _ := model(t, "two")
	shut := &inferencePool{name: "closed", servers: []string{one, two}, picker: &picker{}}
	open := &inferencePool{name: "open", servers: []string{one, two}, picker: &picker{}, failOpen: true}
	address := servePools(t, []*inferencePool{shut}, []*inferencePool{open})
	for _, body := range [][]byte{nil, question} {
		for path, want := range map[string]int{"": http.StatusServiceUnavailable, "/1": http.StatusOK} {
			if r, err := prompt(t, "http://"+address+path, body); err != nil || r.status != want {
				t.Errorf("%q with a body of %d bytes: %d, %v, want %d", path, len(body), r.status, err, want)
			}
		}
	}
}

// TestBrokenPicker: while a picker cannot be used, a pool that fails closed answers 503 although its cluster is open, and one that fails
// open is load balanced, whatever a client says of the destination.
func TestBrokenPicker(t *testing.T) {
	t.Parallel()
	one, reached := model(t, "one")
	two, _ := model(t, "two")
	shut := &inferencePool{name: "closed", servers: []string{one}, picker: &picker{}, broken: true}
	open := &inferencePool{name: "open", servers: []string{one, two}, picker: &picker{}, broken: true, failOpen: true}
	address := servePools(t, []*inferencePool{shut}, []*inferencePool{open})
	for _, body := range [][]byte{nil, question} {
		if r, err := prompt(t, "http://"+address, body, ir.DestinationEndpoint, one); err != nil || r.status != http.StatusServiceUnavailable {
			t.Errorf("FailClose with a body of %d bytes: %d, %v, want 503", len(body), r.status, err)
		}
	}
	if reached.Load() > 0 {
		t.Error("a request passed that no picker decided about")
	}
	models := map[string]bool{}
	for range 40 {
		r, err := prompt(t, "http://"+address+"/1", question, ir.DestinationEndpoint, one)
		if err != nil || r.status != http.StatusOK {
			t.Fatalf("FailOpen: %d, %v", r.status, err)
		}
		models[r.header.Get("x-model")] = true
	}
	if len(models) != 2 {
		t.Errorf("a client chose %v", models)
	}
}

// TestAHungPicker holds requests as long as the client waits, and none of another pool.
func TestAHungPicker(t *testing.T) {
	t.Parallel()
	one, reached := model(t, "one")
	other, _ := model(t, "other")
	hung, fine := &inferencePool{name: "hung", servers: []string{one}}, &inferencePool{name: "fine", servers: []string{other}}
	hung.picker = newPicker(t, "hung", func(http.Header) choice { return choice{hang: true} })
	fine.picker = newPicker(t, "fine", func(http.Header) choice { return both(other) })
	open := &inferencePool{name: "open", servers: []string{one}, picker: hung.picker, failOpen: true}
	address := servePools(t, []*inferencePool{hung}, []*inferencePool{fine}, []*inferencePool{open})
	for _, path := range []string{"", "/2"} {
		waitInVain(t, http.MethodPost, "http://"+address+path, strings.NewReader("{}"))
		waitInVain(t, http.MethodGet, "http://"+address+path, http.NoBody)
	}
	if r, err := prompt(t, "http://"+address+"/1", question); err != nil || r.header.Get("x-model") != "other" {
		t.Errorf("another pool: %+v, %v", r, err)
	}
	if reached.Load() > 0 {
		t.Error("a request passed that the picker did not decide about")
	}
}

// waitInVain sends a request that is not answered before the client gives up.
func waitInVain(t *testing.T, method, url string, body io.Reader) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		_ = response.Body.Close()
		t.Errorf("%s %s was answered: %+v", method, url, response)
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the client of %s %s did not give up, it failed: %v", method, url, err)
	}
}

// TestAStoppedPicker: a picker that does not even answer PINGs is given up, and its pool does what its failure mode says.
func TestAStoppedPicker(t *testing.T) {
	t.Parallel()
	one, _ := model(t, "one")
	stopped := &picker{certs: selfSigned()}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*stopped.certs}, NextProtos: []string{"h2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			if secure, ok := connection.(*tls.Conn); ok {
				_ = secure.HandshakeContext(t.Context()) // and nothing is ever read
			}
		}
	}()
	stopped.address = listener.Addr().String()
	shut := &inferencePool{name: "closed", servers: []string{one}, picker: stopped}
	open := &inferencePool{name: "open", servers: []string{one}, picker: stopped, failOpen: true}
	address := servePools(t, []*inferencePool{shut}, []*inferencePool{open})
	for _, c := range []struct {
		path string
		body []byte
		want int
	}{
		{"", nil, http.StatusServiceUnavailable},
		{"", question, http.StatusServiceUnavailable},
		{"/1", nil, http.StatusOK},
		{"/1", question, http.StatusServiceUnavailable},
	} {
		if r, err := prompt(t, "http://"+address+c.path, c.body); err != nil || r.status != c.want {
			t.Errorf("%q with a body of %d bytes: %d, %v, want %d", c.path, len(c.body), r.status, err, c.want)
		}
	}
}
