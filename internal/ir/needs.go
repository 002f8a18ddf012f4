package ir

import "slices"

// Needs is what proxies must have to serve some values: the clusters of backends, and secrets. It is the one way to say so. What a value
// names and does not declare here is never sent to a proxy.
type Needs struct {
	backends, certificates, authorities []string
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

// Backends are [Backend.Name]s, sorted, each once.
func (n *Needs) Backends() []string { return distinct(n.backends) }

// Certificates are the names of key pairs, see [Certificate], sorted, each once.
func (n *Needs) Certificates() []string { return distinct(n.certificates) }

// Authorities are the names of bundles, see [Authorities], sorted, each once.
func (n *Needs) Authorities() []string { return distinct(n.authorities) }

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// The names are empty where a reference leads nowhere, or where there is none.

func (n *Needs) backend(name string) { n.backends = appendName(n.backends, name) }

func (n *Needs) certificate(name string) { n.certificates = appendName(n.certificates, name) }

func (n *Needs) authority(name string) { n.authorities = appendName(n.authorities, name) }

func appendName(names []string, name string) []string {
	if name == "" {
		return names
	}
	return append(names, name)
}

func (r *Rule) needs(n *Needs) {
	r.Auth.needs(n)
	if r.Forward == nil {
		return
	}
	for i := range r.Forward.Backends {
		n.backend(r.Forward.Backends[i].Backend)
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
