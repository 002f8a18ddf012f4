package route

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"path"
	"strconv"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
)

// keepSessions gives each backend of a rule that forwards a session, unless it brings its own. GEP-1619: for every request the weights
// choose the backend, and only then the session the endpoint, so with several backends a client has a session with each.
func keepSessions(s *gwv1.SessionPersistence, rule string, a *action) string {
	if s == nil || a.forward == nil {
		return ""
	}
	several := len(a.forward.Backends) > 1
	for i := range a.forward.Backends {
		b := &a.forward.Backends[i]
		if b.Session != nil || b.Backend.IsZero() {
			continue
		}
		// A rule that moves keeps its sessions, so its number is no part of their name.
		resolved, message := session(s, path.Dir(rule)+"|"+b.Backend.String())
		if message != "" {
			return message
		}
		if several && s.Cookie != nil && s.Cookie.Name != nil && resolved.Cookie != "" {
			// One cookie cannot hold the sessions of several backends. A header has to: clients know it by its name.
			resolved.Cookie = string(*s.Cookie.Name) + "-" + digest(b.Backend.String())
		}
		b.Session = resolved
	}
	return ""
}

// backendSession is the session that an XBackend brings along, nil if none. A name is the XBackend's own: all that refer to it share
// its sessions.
func (r *resolver) backendSession(backend ir.Backend) (*ir.Session, string) {
	object, ok := r.in.Objects.XBackends.Get(r.view, backend.Object.String())
	if !ok || object.Spec.SessionPersistence == nil {
		return nil, ""
	}
	s, message := session(object.Spec.SessionPersistence, backend.Target().String())
	if message != "" {
		message = fmt.Sprintf("XBackend %s: %s", backend.Object, message)
	}
	return s, message
}

// session resolves a session persistence. Where the user gave it no name, it gets one from what it belongs to.
func session(s *gwv1.SessionPersistence, owner string) (*ir.Session, string) {
	if s.Type != nil && *s.Type == gwv1.HeaderBasedSessionPersistence {
		if s.AbsoluteTimeout != nil {
			return nil, "sessionPersistence.absoluteTimeout is not served for sessions in a header, which carries no time; remove it, or use " +
				"a cookie of lifetimeType Permanent"
		}
		name := sessionName(headerName(s.Header), owner)
		return &ir.Session{Header: name}, header.CheckName("sessionPersistence.header.name", name)
	}
	cookie := gwv1.CookieConfig{}
	if s.Cookie != nil {
		cookie = *s.Cookie
	}
	permanent := cookie.LifetimeType != nil && *cookie.LifetimeType == gwv1.PermanentCookieLifetimeType
	result := &ir.Session{Cookie: sessionName((*string)(cookie.Name), owner), Path: "/"}
	if cookie.Path != nil && *cookie.Path != "" {
		result.Path = *cookie.Path
	}
	if message := checkCookie(result); message != "" {
		return nil, message
	}
	switch timeout, message := duration("sessionPersistence.absoluteTimeout", s.AbsoluteTimeout); {
	case message != "":
		return nil, message
	case permanent && timeout == nil:
		return nil, "sessionPersistence.absoluteTimeout is needed for a cookie of lifetimeType Permanent; add it"
	case permanent:
		result.Lifetime = *timeout
	case timeout != nil:
		return nil, "sessionPersistence.absoluteTimeout is not served for a cookie of lifetimeType Session, which carries no time; remove " +
			"it, or set lifetimeType Permanent"
	}
	return result, ""
}

func checkCookie(s *ir.Session) string {
	if strings.Contains(s.Path, ";") {
		return fmt.Sprintf("sessionPersistence.cookie.path %q has a semicolon, which ends it; remove it", s.Path)
	}
	return cmp.Or(header.CheckName("sessionPersistence.cookie.name", s.Cookie), checkPath("sessionPersistence.cookie.path", s.Path))
}

func headerName(h *gwv1.HeaderConfig) *string {
	if h == nil {
		return nil
	}
	return (*string)(&h.Name)
}

// sessionName is the user's name for a session, or one that no other owner has.
func sessionName(given *string, owner string) string {
	if given != nil && *given != "" {
		return *given
	}
	return "gatewright-session-" + digest(owner)
}

func digest(text string) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(text))
	return strconv.FormatUint(hash.Sum64(), 36)
}
