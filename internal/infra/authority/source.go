package authority

import (
	"bytes"
	"fmt"
	"maps"
	"sync"

	"github.com/gatewright/gatewright/internal/pki"
)

// SecretName is the name of the Secret, in the system namespace, that holds the certificate authority.
const SecretName = "gatewright-xds-ca"

// Source holds the authority as it is known to this replica. Its zero value knows none; it is a [pki.Source].
type Source struct {
	mu        sync.RWMutex
	authority *pki.Authority
	data      map[string][]byte
	listeners []func()
}

// Authority is nil until the first [Source.Update]. The same state is the same pointer.
func (s *Source) Authority() *pki.Authority {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.authority
}

// OnChange calls f after each change. It must be called before the first Update, and f must return quickly.
func (s *Source) OnChange(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, f)
}

// Update takes the data of the Secret. Data that is empty or corrupt changes nothing: what was known stays in use.
func (s *Source) Update(data map[string][]byte) error {
	s.mu.RLock()
	same := s.authority != nil && maps.EqualFunc(s.data, data, bytes.Equal)
	s.mu.RUnlock()
	if same {
		return nil
	}
	authority, err := pki.Unmarshal(data)
	if err != nil {
		return fmt.Errorf("reading the certificate authority from Secret %s: %w", SecretName, err)
	}
	if authority == nil {
		return nil
	}
	s.mu.Lock()
	s.authority, s.data = authority, data
	listeners := s.listeners
	s.mu.Unlock()
	for _, listener := range listeners {
		listener()
	}
	return nil
}
