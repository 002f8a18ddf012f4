package explain

import (
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
)

// headers are those of a request, by names in lower case. Pseudo headers of HTTP/2 are among them.
type headers struct{ list []ir.Header }

// The names of pseudo headers.
const (
	authorityHeader = ":authority"
	methodHeader    = ":method"
	pathHeader      = ":path"
	schemeHeader    = ":scheme"
)

// joined are the headers whose values Envoy keeps as one, whatever a client sends.
var joined = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(`
		:authority :method :path :scheme connection content-encoding content-type content-length keep-alive proxy-connection proxy-status te
		transfer-encoding upgrade via expect grpc-timeout user-agent x-request-id x-client-trace-id x-forwarded-client-cert x-forwarded-for
		x-forwarded-host x-forwarded-proto x-forwarded-port accept accept-encoding access-control-request-headers
		access-control-request-method access-control-request-private-network authorization cache-control cdn-loop grpc-accept-encoding
		if-match if-modified-since if-none-match if-range if-unmodified-since origin pragma referer`) {
		names[name] = true
	}
	return names
}()

func canonicalName(name string) string {
	name = strings.ToLower(name)
	if name == "host" {
		return authorityHeader
	}
	return name
}

func (h *headers) add(name, value string) {
	name = canonicalName(name)
	if joined[name] {
		for i := range h.list {
			if old := &h.list[i]; old.Name == name {
				if old.Value != "" && value != "" {
					old.Value += ","
				}
				old.Value += value
				return
			}
		}
	}
	h.list = append(h.list, ir.Header{Name: name, Value: value})
}

// set replaces all values of a header.
func (h *headers) set(name, value string) {
	h.remove(name)
	h.list = append(h.list, ir.Header{Name: canonicalName(name), Value: value})
}

// remove removes a header. The host stays, and so do pseudo headers.
func (h *headers) remove(name string) {
	h.removeFunc(func(other string) bool { return other == canonicalName(name) })
}

func (h *headers) removeFunc(match func(name string) bool) {
	h.list = slices.DeleteFunc(h.list, func(header ir.Header) bool { return match(header.Name) })
}

// values are all values of a header.
func (h *headers) values(name string) []string {
	name = canonicalName(name)
	var values []string
	for _, header := range h.list {
		if header.Name == name {
			values = append(values, header.Value)
		}
	}
	return values
}

// first is the first value of a header, empty if there is none.
func (h *headers) first(name string) string {
	if values := h.values(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// together is all values of a header as Envoy's matchers read them, and whether there are any.
func (h *headers) together(name string) (string, bool) {
	values := h.values(name)
	return strings.Join(values, ","), len(values) > 0
}

// cookie is the first value of a cookie, and whether there is one.
func (h *headers) cookie(name string) (string, bool) {
	for _, header := range h.values("cookie") {
		for part := range strings.SplitSeq(header, ";") {
			key, value, ok := strings.Cut(strings.TrimLeft(part, " "), "=")
			if !ok || key != name {
				continue
			}
			if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
				value = value[1 : len(value)-1]
			}
			return value, true
		}
	}
	return "", false
}

// queryParameter is the first value of a parameter of the query, which is not decoded, and whether there is one.
func queryParameter(path, name string) (string, bool) {
	_, query := cutQuery(path)
	for part := range strings.SplitSeq(strings.TrimPrefix(query, "?"), "&") {
		if key, value, _ := strings.Cut(part, "="); key == name && query != "" {
			return value, true
		}
	}
	return "", false
}

// edit changes headers as the early edits of a client policy do.
func (h *headers) edit(m *ir.HeaderMutation) {
	if m == nil {
		return
	}
	for _, name := range m.Remove {
		h.removeEditable(func(other string) bool { return strings.EqualFold(other, name) })
	}
	for _, match := range m.RemoveOnMatch {
		h.removeEditable(func(name string) bool { return matches(match, name) })
	}
	for _, header := range m.Set {
		h.set(header.Name, header.Value)
	}
	for _, header := range m.Add {
		h.add(header.Name, header.Value)
	}
	for _, header := range m.AddIfAbsent {
		if len(h.values(header.Name)) == 0 {
			h.add(header.Name, header.Value)
		}
	}
}

func (h *headers) removeEditable(match func(name string) bool) {
	h.removeFunc(func(name string) bool { return !strings.HasPrefix(name, ":") && match(name) })
}
