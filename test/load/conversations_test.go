package load_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatewright/gatewright/test/load"
)

func TestConverse(t *testing.T) {
	t.Parallel()
	t.Run("every talker goes on until the end, and each failure has its reason", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var held, failed atomic.Int64
			talk := func() error { held.Add(1); time.Sleep(time.Millisecond); return nil }
			fail := func() error { failed.Add(1); return errors.New("interrupted") }
			conversations := load.Converse(t.Context(), time.Minute, talk, talk, fail)
			time.Sleep(time.Second)
			result := conversations.Stop()
			if held.Load() < 20 || failed.Load() < 2 ||
				result.Sent != int(held.Load()+failed.Load()) || result.Failures["interrupted"] != int(failed.Load()) {
				t.Errorf("held %d, failed %d, got %s", held.Load(), failed.Load(), result)
			}
		})
	})
	t.Run("what is not stopped ends by itself", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var held atomic.Int64
			began := time.Now()
			conversations := load.Converse(
				t.Context(), 50*time.Millisecond, func() error { held.Add(1); time.Sleep(time.Millisecond); return nil },
			)
			<-conversations.Done()
			// A conversation that has begun ends by itself.
			if took := time.Since(began); took < 50*time.Millisecond || took > 51*time.Millisecond {
				t.Errorf("it ended after %s", took)
			}
			if result := conversations.Stop(); result.Sent == 0 || result.Sent != int(held.Load()) {
				t.Errorf("held %d, got %s", held.Load(), result)
			}
		})
	})
}

func TestOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// Every second request finds its connection closed, which a client that may send a request again would hide.
		var requests atomic.Int64
		slow := inMemory(t, func(http.ResponseWriter, *http.Request) {
			if requests.Add(1)%2 == 0 {
				panic(http.ErrAbortHandler)
			}
		})
		slow.Once, slow.Rate = true, 50
		run := load.Start(t.Context(), slow)
		time.Sleep(time.Second)
		result := run.Stop()
		if got := int(requests.Load()); got < 10 || result.Sent != got || result.Failed() != got/2 {
			t.Errorf("the server saw %d requests, got %s", got, result)
		}
	})
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var other atomic.Int64
		second := inMemory(t, func(_ http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 {
				other.Add(1)
			}
		})
		second.HTTP2, second.Once = true, true
		run := load.Start(t.Context(), second)
		time.Sleep(time.Second)
		if result := run.Stop(); result.Sent < 20 || result.Failed() > 0 || other.Load() > 0 {
			t.Errorf("%d requests were not HTTP/2, got %s", other.Load(), result)
		}
	})
}
