package pki

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// start is an authority with a successor and a predecessor, so that every part is there.
func start(t *testing.T) (*Authority, time.Time) {
	t.Helper()
	lives, now := DefaultLifetimes(), begin
	var authority *Authority
	for _, wait := range []time.Duration{0, 250 * day, 8 * day, 250 * day} {
		now = now.Add(wait)
		var err error
		if authority, _, err = Advance(authority, lives, now); err != nil {
			t.Fatal(err)
		}
	}
	// The predecessor has expired by now, so it is put back to have one.
	old, _, err := Advance(nil, lives, now)
	if err != nil {
		t.Fatal(err)
	}
	authority = &Authority{current: authority.current, next: authority.next, previous: old.trusted()}
	if authority.next == nil {
		t.Fatal("there is no successor")
	}
	return authority, now
}

func TestUnmarshalIsTheInverseOfMarshal(t *testing.T) {
	t.Parallel()
	authority, _ := start(t)
	data, err := authority.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Unmarshal(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for key := range data {
		if !bytes.Equal(data[key], again[key]) {
			t.Errorf("%s changed", key)
		}
	}
	if len(back.previous) != 1 || back.next == nil {
		t.Errorf("read back %d previous authorities and successor %v", len(back.previous), back.next)
	}
}

func TestUnmarshalNamesTheCorruptKey(t *testing.T) {
	t.Parallel()
	authority, now := start(t)
	leaf, err := authority.IssueClient(DefaultLifetimes(), now, GatewayURI("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		key  string
		edit func(data map[string][]byte)
	}{
		{"a bundle that is missing", BundleKey, func(d map[string][]byte) { delete(d, BundleKey) }},
		{"a bundle that is not PEM", BundleKey, func(d map[string][]byte) { d[BundleKey] = []byte("x") }},
		{"a bundle with a leaf", BundleKey, func(d map[string][]byte) { d[BundleKey] = leaf.CertificatePEM }},
		{"a key that is missing", CurrentKey, func(d map[string][]byte) { delete(d, CurrentKey) }},
		{"a key that is not a key", CurrentKey, func(d map[string][]byte) { d[CurrentKey] = d[BundleKey] }},
		{"a key of nothing in the bundle", CurrentKey, func(d map[string][]byte) { d[CurrentKey] = leaf.PrivateKeyPEM }},
		{"a successor's key that is cut", NextKey, func(d map[string][]byte) { d[NextKey] = d[NextKey][:40] }},
		{"a successor's key that is the current one", NextKey, func(d map[string][]byte) { d[NextKey] = d[CurrentKey] }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			data, err := authority.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			test.edit(data)
			if _, err := Unmarshal(data); err == nil || !strings.HasPrefix(err.Error(), test.key+":") {
				t.Errorf("got error %v, want one that names %s", err, test.key)
			}
		})
	}
	if nothing, err := Unmarshal(map[string][]byte{"other": nil}); nothing != nil || err != nil {
		t.Errorf("data without an authority gave %v, %v; want nothing", nothing, err)
	}
}

func TestNeedsRenewal(t *testing.T) {
	t.Parallel()
	lives := DefaultLifetimes()
	authority, now := start(t)
	foreign, _, err := Advance(nil, lives, now)
	if err != nil {
		t.Fatal(err)
	}
	uri := GatewayURI("shop", "edge")
	pair, err := authority.IssueClient(lives, now, uri)
	if err != nil {
		t.Fatal(err)
	}
	other, err := authority.IssueClient(lives, now, uri)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		pair   KeyPair
		uri    string
		bundle []byte
		after  time.Duration
		want   bool
	}{
		{"a new one does not", pair, uri, authority.Bundle(), 0, false},
		{"one with eleven days left does not", pair, uri, authority.Bundle(), 19 * day, false},
		{"one with nine days left does", pair, uri, authority.Bundle(), 21 * day, true},
		{"one that is not trusted does", pair, uri, foreign.Bundle(), 0, true},
		{"one of another Gateway does", pair, GatewayURI("shop", "other"), authority.Bundle(), 0, true},
		{"one with another's key does", KeyPair{pair.CertificatePEM, other.PrivateKeyPEM}, uri, authority.Bundle(), 0, true},
		{"one that is missing does", KeyPair{}, uri, authority.Bundle(), 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := NeedsRenewal(test.pair, test.uri, test.bundle, now.Add(test.after)); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if got, want := RenewAt(pair), now.Add(20*day); got.Sub(want).Abs() > lives.Backdate {
		t.Errorf("renewed at %s, want about %s", got, want)
	}
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	lives := DefaultLifetimes()
	authority, now := start(t)
	foreign, _, err := Advance(nil, lives, now)
	if err != nil {
		t.Fatal(err)
	}
	uri := GatewayURI("shop", "edge")
	issue := func(from *Authority, at time.Time) KeyPair {
		pair, err := from.IssueClient(lives, at, uri)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	tests := []struct {
		name   string
		source Source
		pair   KeyPair
	}{
		{"a certificate of a foreign authority", fixed{authority}, issue(foreign, now)},
		{"an expired certificate", fixed{authority}, issue(authority, now.Add(-31*day))},
		{"everybody while there is no authority", fixed{}, issue(authority, now)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clock := func() time.Time { return now }
			config := ServerTLS(test.source, lives, clock, serverName)
			if identity, err := handshake(config, test.pair, authority.Bundle(), clock); err == nil {
				t.Errorf("the server took %s", identity)
			}
		})
	}
}

// turning is a source whose authority and time move while handshakes are under way.
type turning struct {
	authority atomic.Pointer[Authority]
	now       atomic.Int64
}

func (s *turning) Authority() *Authority { return s.authority.Load() }
func (s *turning) time() time.Time       { return time.Unix(s.now.Load(), 0) }

func TestServerRenewsItselfWhileClientsConnect(t *testing.T) {
	t.Parallel()
	lives := DefaultLifetimes()
	authority, _, err := Advance(nil, lives, begin)
	if err != nil {
		t.Fatal(err)
	}
	source := &turning{}
	source.authority.Store(authority)
	source.now.Store(begin.Unix())
	config := ServerTLS(source, lives, source.time, serverName)
	pair, err := authority.IssueClient(lives, begin, GatewayURI("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	// Time moves between the rounds: a handshake that a busy machine held up for days would fail rightly.
	for range 20 {
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if _, err := handshake(config, pair, authority.Bundle(), source.time); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		source.now.Add(int64((4 * time.Hour).Seconds()))
	}
}

func TestLifetimesThatCanNotRotateAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*Lifetimes)
	}{
		{"a leaf that outlives the overlap", func(l *Lifetimes) { l.Client = l.Overlap }},
		{"an overlap as long as the authority's life", func(l *Lifetimes) { l.Overlap = l.CA }},
		{"no life at all", func(l *Lifetimes) { l.Server = 0 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			lives := DefaultLifetimes()
			test.edit(&lives)
			if lives.Check() == nil {
				t.Error("accepted")
			}
		})
	}
	if err := DefaultLifetimes().Check(); err != nil {
		t.Error(err)
	}
}
