package ir

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"time"
)

// DestinationPolicy has the settings of the connections to a backend. Clusters with the same settings share the values in it, which are
// never modified. Nil has the defaults.
type DestinationPolicy struct {
	// TLS is nil for plain text.
	TLS *BackendTLS
	// RetryBudget limits retries, nil for the default.
	RetryBudget *RetryBudget
	// Settings are those of policies, nil for the defaults.
	Settings *DestinationSettings
}

// DestinationSettings are the settings of destinations that policies have at all levels. The tag `setting` is the name of a setting, as in
// [RequestPolicy]. Each is nil for the default.
type DestinationSettings struct {
	ConnectTimeout *time.Duration `setting:"timeout.tcp.connectTimeout"`
	// IdleTimeout closes a connection without requests, and MaxDuration one that is older; zero is never.
	IdleTimeout    *time.Duration  `setting:"timeout.http.connectionIdleTimeout"`
	MaxDuration    *time.Duration  `setting:"timeout.http.maxConnectionDuration"`
	LoadBalancer   *LoadBalancer   `setting:"loadBalancer"`
	CircuitBreaker *CircuitBreaker `setting:"circuitBreaker"`
	Active         *ActiveCheck    `setting:"healthCheck.active"`
	Passive        *PassiveCheck   `setting:"healthCheck.passive"`
	// PanicThreshold is a percentage of endpoints that are healthy.
	PanicThreshold *uint32        `setting:"healthCheck.panicThreshold"`
	BufferLimit    uint32         `setting:"connection.bufferLimit"`
	SocketBuffer   uint32         `setting:"connection.socketBufferLimit"`
	Preconnect     *Preconnect    `setting:"connection.preconnect"`
	HTTP2          *HTTP2Settings `setting:"http2"`
	Keepalive      *TCPKeepalive  `setting:"tcpKeepalive"`
	// ProxyProtocol is the version, 0 for none.
	ProxyProtocol uint32 `setting:"proxyProtocol"`
	DNS           *DNS   `setting:"dns"`
	// ClientProtocol speaks the version of HTTP that the client speaks.
	ClientProtocol *bool `setting:"useClientProtocol"`
	// Credential is what a rule adds to requests. Only rules have it.
	Credential *InjectedCredential `json:",omitempty"`
	// Origins are the policies that the settings come from, sorted.
	Origins []Origin `json:",omitempty"`
}

// IsZero reports whether every setting has its default.
func (s *DestinationSettings) IsZero() bool { return s == nil || reflect.ValueOf(*s).IsZero() }

// DestinationLayer has the settings that policies at some levels have, for what is below these levels.
type DestinationLayer struct {
	Settings DestinationSettings
	// Overrides are the names of settings that no more specific policy changes, sorted.
	Overrides []string
	// Digest is the same for layers with the same settings.
	Digest string
}

// NewDestinationLayer returns a layer, nil for one without settings.
func NewDestinationLayer(settings DestinationSettings, overrides []string) *DestinationLayer {
	plain := settings
	plain.Origins = nil
	if plain.IsZero() {
		return nil
	}
	slices.Sort(overrides)
	// The settings are plain values, which can always be encoded.
	text, _ := json.Marshal(DestinationLayer{Settings: plain, Overrides: overrides}) //nolint:errchkjson // see above
	sum := sha256.Sum256(text)
	return &DestinationLayer{Settings: settings, Overrides: overrides, Digest: hex.EncodeToString(sum[:8])}
}

// WithCredential is the layer of a rule that adds a credential to requests. Nil is a layer without settings.
func (l *DestinationLayer) WithCredential(c *InjectedCredential) *DestinationLayer {
	if c == nil {
		return l
	}
	var settings DestinationSettings
	var overrides []string
	if l != nil {
		settings, overrides = l.Settings, slices.Clone(l.Overrides)
	}
	settings.Credential = c
	return NewDestinationLayer(settings, overrides)
}

// Plain is the layer without its origins: it is the same wherever its digest is.
func (l *DestinationLayer) Plain() *DestinationLayer {
	plain := *l
	plain.Settings.Origins = nil
	return &plain
}

// Objects are the policies that the settings come from, sorted, each once.
func (l *DestinationLayer) Objects() []ObjectRef {
	if l == nil {
		return nil
	}
	return objectsOf(l.Settings.Origins)
}

// Secrets are those that the settings name, sorted, each once.
func (p *DestinationPolicy) Secrets() []string { return NeedsOf(p).Secrets() }

// Backends are those that the settings name, sorted, each once.
func (p *DestinationPolicy) Backends() []Backend { return NeedsOf(p).Backends() }

// Origins are the objects that the settings come from.
func (p *DestinationPolicy) Origins() []ObjectRef {
	var origins []ObjectRef
	if p.TLS != nil && !p.TLS.Origin.IsZero() {
		origins = append(origins, p.TLS.Origin)
	}
	if p.RetryBudget != nil && !p.RetryBudget.Origin.IsZero() {
		origins = append(origins, p.RetryBudget.Origin)
	}
	if p.Settings != nil {
		origins = append(origins, objectsOf(p.Settings.Origins)...)
	}
	return origins
}

func (p *DestinationPolicy) needs(n *Needs) {
	if p != nil {
		p.TLS.needs(n)
		p.Settings.needs(n)
	}
}

func (s *DestinationSettings) needs(n *Needs) {
	if s != nil {
		s.Credential.needs(n)
	}
}

// Only is the layer with the settings that keep wants, nil where that leaves none.
func (l *DestinationLayer) Only(keep func(setting string) bool) *DestinationLayer {
	settings := l.Settings
	v := reflect.ValueOf(&settings).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("setting"); name != "" && !keep(name) {
			v.Field(i).SetZero()
		}
	}
	settings.Origins = slices.DeleteFunc(slices.Clone(settings.Origins), func(o Origin) bool { return !keep(o.Setting) })
	return NewDestinationLayer(settings, slices.DeleteFunc(slices.Clone(l.Overrides), func(name string) bool { return !keep(name) }))
}
