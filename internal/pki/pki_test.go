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
	leaf, err := authority.IssueServer(DefaultLifetimes(), now, serverName)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := newSigner(DefaultLifetimes(), now)
	if err != nil {
		t.Fatal(err)
	}
	strangersKey, err := encodeKey(stranger.key)
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
		{"a bundle with a leaf", BundleKey, func(d map[string][]byte) { d[BundleKey] = encodeCertificate(leaf.Certificate[0]) }},
		{"a key that is missing", CurrentKey, func(d map[string][]byte) { delete(d, CurrentKey) }},
		{"a key that is not a key", CurrentKey, func(d map[string][]byte) { d[CurrentKey] = d[BundleKey] }},
		{"a key of nothing in the bundle", CurrentKey, func(d map[string][]byte) { d[CurrentKey] = strangersKey }},
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

func TestProxiesRefuse(t *testing.T) {
	t.Parallel()
	lives := DefaultLifetimes()
	authority, now := start(t)
	foreign, _, err := Advance(nil, lives, now)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		source Source
		server string
	}{
		{"a server of a foreign authority", fixed{foreign}, serverName},
		{"a server of another name", fixed{authority}, "gatewright-xds.elsewhere.svc"},
		{"every server while there is no authority", fixed{}, serverName},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clock := func() time.Time { return now }
			if handshake(ServerTLS(test.source, lives, clock, test.server), authority.Bundle(), clock) == nil {
				t.Error("the server was believed")
			}
		})
	}
}

func TestASuccessorSignsWhenTheCurrentAuthorityHasEnded(t *testing.T) {
	t.Parallel()
	lives := DefaultLifetimes()
	authority, now := start(t)
	end := authority.current.certificate.NotAfter
	late := func() time.Time { return end.Add(time.Second) }
	if err := handshake(ServerTLS(fixed{authority}, lives, late, serverName), authority.Bundle(), late); err != nil {
		t.Errorf("a replica that has not heard from the leader since %s is not believed: %v", now, err)
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
	// Time moves between the rounds: a handshake that a busy machine held up for days would fail rightly.
	for range 20 {
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if err := handshake(config, authority.Bundle(), source.time); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		source.now.Add(int64((4 * time.Hour).Seconds()))
	}
}

func TestLifetimesThatCannotRotateAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*Lifetimes)
	}{
		{"a leaf that outlives the overlap", func(l *Lifetimes) { l.Server = l.Overlap }},
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
