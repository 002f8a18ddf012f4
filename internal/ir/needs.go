package ir

import "slices"

// Needs is what proxies must have to serve some values: the clusters of backends, and secrets. It is the one way to say so. What a value
// names and does not declare here is never sent to a proxy.
type Needs struct {
	backends                  []Backend
	certificates, authorities []string
	credentials               []string
}

// Needer is a value that names backends or secrets, or holds others that do.
type Needer interface {
	needs(n *Needs)
}

// NeedsOf is what all the values need together.
func NeedsOf(values ...Needer) *Needs {
	n := &Needs{}
	n.Add(values...)
	return n
}

// Add adds what more values need.
func (n *Needs) Add(values ...Needer) {
	for _, v := range values {
		v.needs(n)
	}
}

// Backends are sorted, each once.
func (n *Needs) Backends() []Backend {
	slices.SortFunc(n.backends, Backend.Compare)
	n.backends = slices.Compact(n.backends)
	return n.backends
}

// Certificates are the names of key pairs, see [Certificate], sorted, each once.
func (n *Needs) Certificates() []string { return distinct(n.certificates) }

// Authorities are the names of bundles, see [Authorities], sorted, each once.
func (n *Needs) Authorities() []string { return distinct(n.authorities) }

// Credentials are the names of credentials, see [Credential], sorted, each once.
func (n *Needs) Credentials() []string { return distinct(n.credentials) }

// Secrets are the names of key pairs, bundles and credentials, sorted, each once.
func (n *Needs) Secrets() []string {
	return distinct(slices.Concat(n.certificates, n.authorities, n.credentials))
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// Backends are zero and names are empty where a reference cannot be resolved, or where there is none.

func (n *Needs) backend(b Backend) {
	if !b.IsZero() {
		n.backends = append(n.backends, b)
		n.backends = append(n.backends, b.Members()...)
	}
}

func (n *Needs) certificate(name string) { n.certificates = appendName(n.certificates, name) }

func (n *Needs) authority(name string) { n.authorities = appendName(n.authorities, name) }

func (n *Needs) credential(name string) { n.credentials = appendName(n.credentials, name) }

func appendName(names []string, name string) []string {
	if name == "" {
		return names
	}
	return append(names, name)
}

func (h *VirtualHost) needs(n *Needs) {
	h.Policy.needs(n)
	for i := range h.Filters {
		h.Filters[i].needs(n)
	}
	for i := range h.Rules {
		h.Rules[i].needs(n)
	}
}

func (r *Rule) needs(n *Needs) {
	r.Policy.needs(n)
	r.Extensions.needs(n)
	if r.Forward == nil {
		return
	}
	for i := range r.Forward.Backends {
		n.backend(r.Forward.Backends[i].Backend)
		r.Forward.Backends[i].Picker.needs(n)
	}
	for i := range r.Forward.Mirrors {
		n.backend(r.Forward.Mirrors[i].Backend)
	}
}

func (s *Stream) needs(n *Needs) {
	if s == nil {
		return
	}
	for _, b := range s.Backends {
		if b.Weight > 0 {
			n.backend(b.Backend)
		}
	}
}

func (a *ExternalAuth) needs(n *Needs) {
	if a != nil {
		n.backend(a.Backend)
	}
}

func (l *AccessLog) needs(n *Needs) { n.backend(l.Backend) }

func (t *Tracing) needs(n *Needs) {
	if t != nil {
		n.backend(t.Backend)
	}
}

func (p *Port) needs(n *Needs) {
	for i := range p.Chains {
		p.Chains[i].needs(n)
	}
	for i := range p.Logs {
		p.Logs[i].needs(n)
	}
}

func (c *Chain) needs(n *Needs) {
	for _, name := range c.Certificates {
		n.certificate(name)
	}
	c.Clients.needs(n)
	c.Stream.needs(n)
	c.Policy.needs(n)
}

func (p *ClientPolicy) needs(n *Needs) {
	if p != nil {
		p.TLS.Clients.needs(n)
	}
}

func (c *ClientValidation) needs(n *Needs) {
	if c != nil {
		n.authority(c.Authorities)
	}
}

func (t *BackendTLS) needs(n *Needs) {
	if t != nil {
		n.authority(t.Authorities)
		n.certificate(t.ClientCertificate)
	}
}
