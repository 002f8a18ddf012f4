package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

const serverName = "gatewright-xds.gatewright-system.svc"

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// fixed is a source that never changes.
type fixed struct{ authority *Authority }

func (f fixed) Authority() *Authority { return f.authority }

// handshake connects a client that trusts a bundle to a server. It needs a real connection: both sides write at once when one refuses.
func handshake(server *tls.Config, bundle []byte, now func() time.Time) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	answer := make(chan error, 1)
	go func() {
		raw, err := listener.Accept()
		if err != nil {
			answer <- err
			return
		}
		defer func() { _ = raw.Close() }()
		answer <- tls.Server(raw, server).Handshake()
	}()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	client, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: serverName, Time: now,
	})
	if err == nil {
		_ = client.Close()
	}
	return errors.Join(err, <-answer)
}

// moment is what the leader had written at a time.
type moment struct {
	at        time.Time
	authority *Authority
}

// seen is what a proxy knows whose knowledge is lag old.
func seen(history []moment, now time.Time, lag time.Duration) moment {
	for i := len(history) - 1; i > 0; i-- {
		if !history[i].at.After(now.Add(-lag)) {
			return history[i]
		}
	}
	return history[0]
}

func TestRotation(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		lives Lifetimes
		step  time.Duration
		years float64
	}{
		{"three years with the lifetimes of production", DefaultLifetimes(), 36 * time.Hour, 3},
		{"five years with a leader that looks once a week", DefaultLifetimes(), 7 * day, 5},
		{"twenty minutes with the small lifetimes of a test", Lifetimes{
			CA: 3 * time.Minute, Overlap: time.Minute, Learn: 10 * time.Second,
			Server: 30 * time.Second, Backdate: 2 * time.Second,
		}, 2 * time.Second, 1.0 / 3 / 24 / 365},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := test.lives.Check(); err != nil {
				t.Fatal(err)
			}
			steps := int(test.years * float64(365*day) / float64(test.step))
			promotions := rotate(t, test.lives, test.step, steps)
			if want := int(test.years * float64(365*day) / float64(test.lives.CA)); promotions < want {
				t.Errorf("%d authorities were promoted, want at least %d", promotions, want)
			}
		})
	}
}

// rotate steps time and lets a proxy and a server, each of which may know what the leader wrote up to Learn ago, meet at each step.
func rotate(t *testing.T, lives Lifetimes, step time.Duration, steps int) (promotions int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a fixed seed on purpose
	var history []moment
	var latest moment
	for now := begin; steps > 0; steps, now = steps-1, now.Add(step) {
		advanced, _, err := Advance(latest.authority, lives, now)
		if err != nil {
			t.Fatal(err)
		}
		if latest.authority != nil && latest.authority.current.certificate != advanced.current.certificate {
			promotions++
		}
		latest.at, latest.authority = now, advanced
		history = append(history, latest)

		proxy := seen(history, now, time.Duration(random.Int64N(int64(lives.Learn)+1)))
		replica := seen(history, now, time.Duration(random.Int64N(int64(lives.Learn)+1)))
		clock := func() time.Time { return now }
		config := ServerTLS(fixed{replica.authority}, lives, clock, serverName)
		if err := handshake(config, proxy.authority.Bundle(), clock); err != nil {
			t.Fatalf("%s after the start, proxy knows what is %s old, replica %s: %v", now.Sub(begin), now.Sub(proxy.at), now.Sub(replica.at), err)
		}
	}
	return promotions
}

func TestRotationAfterALongAbsence(t *testing.T) {
	t.Parallel()
	lives := DefaultLifetimes()
	first, _, err := Advance(nil, lives, begin)
	if err != nil {
		t.Fatal(err)
	}
	waiting, changed, err := Advance(first, lives, begin.Add(300*day))
	if err != nil || !changed || waiting.next == nil {
		t.Fatalf("no successor after 300 days: changed %v, err %v", changed, err)
	}
	tests := []struct {
		name    string
		from    *Authority
		at      time.Duration
		trusted int
	}{
		{"a dead authority is replaced and trusted no more", first, 400 * day, 1},
		{"a waiting successor takes over from a dead authority", waiting, 400 * day, 1},
		{"a waiting successor takes over and the old one stays trusted", waiting, 350 * day, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			advanced, changed, err := Advance(test.from, lives, begin.Add(test.at))
			if err != nil || !changed {
				t.Fatalf("changed %v, err %v", changed, err)
			}
			if advanced.current.certificate == test.from.current.certificate {
				t.Error("the old authority still signs")
			}
			if got := len(advanced.trusted()); got != test.trusted {
				t.Errorf("%d authorities are trusted, want %d", got, test.trusted)
			}
		})
	}
}

func TestDueIsWhenAdvanceHasSomethingToDo(t *testing.T) {
	t.Parallel()
	lives := DefaultLifetimes()
	authority, _, err := Advance(nil, lives, begin)
	if err != nil {
		t.Fatal(err)
	}
	for range 12 {
		due := authority.Due(lives)
		if _, changed, err := Advance(authority, lives, due.Add(-time.Second)); err != nil || changed {
			t.Fatalf("changed %v before it was due, err %v", changed, err)
		}
		var changed bool
		if authority, changed, err = Advance(authority, lives, due.Add(time.Second)); err != nil || !changed {
			t.Fatalf("changed %v when it was due, err %v", changed, err)
		}
	}
}
