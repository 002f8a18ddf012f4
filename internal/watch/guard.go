package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/gatewright/gatewright/internal/store"
)

// Guard keeps one object that cannot be read from taking all others of its kind with it. A client reads a list as a whole, and fails as a
// whole, although a schema lets through what a type does not: a quantity such as `1e1.5`, or an unusual time in a status. So each object is
// read by itself before: its status is taken away if that helps, and otherwise everything but its metadata.
//
// Fields that a type does not know are dropped by a decoder. Kinds with [store.Descriptor.MarkUnknown] are told of them by a mark.
type Guard struct {
	// strict also reports fields that a type does not know.
	decoder, strict runtime.Decoder
	log             *slog.Logger
	unreadable      *prometheus.CounterVec
}

// NewGuard returns a Guard for the kinds of definitions. A scheme has the types.
func NewGuard(scheme *runtime.Scheme, log *slog.Logger, registerer prometheus.Registerer) *Guard {
	decoder := func(strict bool) runtime.Decoder {
		options := serializer.SerializerOptions{Strict: strict}
		return serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme, scheme, options)
	}
	g := &Guard{
		decoder: decoder(false), strict: decoder(true), log: log,
		unreadable: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gatewright_watch_unreadable_total",
			Help: "Objects that could not be read, by kind and by the part that was ignored: status, unknown fields, or all but the metadata.",
		}, []string{"kind", "part"}),
	}
	registerer.MustRegister(g.unreadable)
	return g
}

// Client is a client whose lists and watches can be read.
func (g *Guard) Client(client *http.Client) *http.Client {
	guarded := *client
	guarded.Transport = transport{guard: g, next: client.Transport}
	return &guarded
}

type transport struct {
	guard *Guard
	next  http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	response, err := next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	kind, guarded := guardedKind(request)
	content, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if !guarded || response.StatusCode != http.StatusOK || content != runtime.ContentTypeJSON {
		return response, nil
	}
	pass := t.guard.passList
	if watches := request.URL.Query().Get("watch"); watches == "true" || watches == "1" {
		pass = t.guard.passEvents
	}
	response.Body = filter(response.Body, func(from io.Reader, to io.Writer) error { return pass(kind, from, to) })
	response.ContentLength = -1
	response.Header.Del("Content-Length")
	return response, nil
}

// guardedKind is the kind that a request lists or watches, if a definition brings it and it is read by its own type.
func guardedKind(request *http.Request) (watched, bool) {
	_, path, ok := strings.Cut(request.URL.Path, "/apis/")
	parts := strings.Split(path, "/")
	if len(parts) == 5 && parts[2] == "namespaces" {
		parts = append(parts[:2:2], parts[4])
	}
	if !ok || request.Method != http.MethodGet || len(parts) != 3 {
		return watched{}, false
	}
	for _, custom := range store.CRDKinds {
		if custom.Group == parts[0] && custom.Versions[0] == parts[1] && custom.Resource == parts[2] {
			return watched{custom}, true
		}
	}
	return watched{}, false
}

// filtered is the body of a response that is changed on its way.
type filtered struct {
	*io.PipeReader
	body io.Closer
}

// Close ends the body too: its reader may wait for something to come.
func (f filtered) Close() error {
	_ = f.PipeReader.Close()
	return f.body.Close()
}

func filter(body io.ReadCloser, pass func(from io.Reader, to io.Writer) error) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		_ = writer.CloseWithError(pass(body, writer))
	}()
	return filtered{PipeReader: reader, body: body}
}

// passEvents passes the events of a watch, of which io.EOF is the end.
func (g *Guard) passEvents(kind watched, from io.Reader, to io.Writer) error {
	decoder := json.NewDecoder(from)
	for {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := decoder.Decode(&event); err != nil {
			return err
		}
		switch event.Type {
		case "ADDED", "MODIFIED", "DELETED":
			event.Object = g.readable(kind, event.Object)
		default: // an error, or a bookmark, which has no fields that tenants write
		}
		if _, err := fmt.Fprintf(to, "{\"type\":%q,\"object\":%s}\n", event.Type, event.Object); err != nil {
			return err
		}
	}
}

// passList passes a list, one object after the other. One that was cut off does not end like a complete one.
func (g *Guard) passList(kind watched, from io.Reader, to io.Writer) error {
	err := g.passFields(kind, from, to)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (g *Guard) passFields(kind watched, from io.Reader, to io.Writer) error {
	decoder := json.NewDecoder(from)
	if _, err := decoder.Token(); err != nil {
		return err
	}
	before := "{"
	for decoder.More() {
		field, err := decoder.Token()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(to, "%s%q:", before, field); err != nil {
			return err
		}
		before = ","
		if field == "items" {
			err = g.passItems(kind, decoder, to)
		} else {
			err = passValue(decoder, to, func(value json.RawMessage) json.RawMessage { return value })
		}
		if err != nil {
			return err
		}
	}
	if err := closing(decoder); err != nil {
		return err
	}
	if before == "{" {
		before = "{}"
	} else {
		before = "}"
	}
	_, err := io.WriteString(to, before)
	return err
}

func (g *Guard) passItems(kind watched, decoder *json.Decoder, to io.Writer) error {
	opening, err := decoder.Token()
	if err != nil {
		return err
	}
	if opening != json.Delim('[') {
		_, err := io.WriteString(to, "null")
		return err
	}
	before := "["
	for decoder.More() {
		if _, err := io.WriteString(to, before); err != nil {
			return err
		}
		before = ","
		if err := passValue(decoder, to, func(value json.RawMessage) json.RawMessage { return g.readable(kind, value) }); err != nil {
			return err
		}
	}
	if err := closing(decoder); err != nil {
		return err
	}
	if before == "[" {
		before = "[]"
	} else {
		before = "]"
	}
	_, err = io.WriteString(to, before)
	return err
}

// closing reads the end of an object or of a list. Without it the answer was cut off.
func closing(decoder *json.Decoder) error {
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
	}
	return nil
}

func passValue(decoder *json.Decoder, to io.Writer, change func(json.RawMessage) json.RawMessage) error {
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	_, err := to.Write(change(value))
	return err
}

// readable is an object as it is, or what can be read of it.
func (g *Guard) readable(kind watched, object json.RawMessage) json.RawMessage {
	unknown, problem := g.read(kind, object)
	if problem == nil {
		return g.marked(kind, object, unknown)
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(object, &fields)
	delete(fields, "status")
	rest, _ := json.Marshal(fields)
	if unknown, err := g.read(kind, rest); err == nil {
		g.report(kind, fields["metadata"], "status", problem)
		return g.marked(kind, rest, unknown)
	}
	if rest, ok := g.withoutFields(kind, fields); ok {
		return rest
	}
	g.report(kind, fields["metadata"], "all", problem)
	for _, paths := range [][]string{kind.KeptUnreadable, withoutLists(kind.KeptUnreadable)} {
		left := stub(fields, kept(paths, fields["spec"]), problem)
		if _, err := g.read(kind, left); err == nil {
			return left
		}
	}
	return stub(fields, nil, problem)
}

// read reads an object as its informer does, and lists the fields below spec that its type does not know. A panic is an error too: what is
// read was written by tenants.
func (g *Guard) read(kind watched, object json.RawMessage) (unknown []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if kind.Check != nil {
		if err := kind.Check(object); err != nil {
			return nil, err
		}
	}
	decoder := g.decoder
	if kind.MarkUnknown {
		decoder = g.strict
	}
	_, _, err = decoder.Decode(object, nil, kind.New())
	return unknownFields(err)
}

// maxReason is how long a reason can be that is repeated in conditions.
const maxReason = 512

// identity is what is left of an object that cannot be read.
type identity struct {
	Namespace         string            `json:"namespace,omitempty"`
	Name              string            `json:"name"`
	UID               string            `json:"uid,omitempty"`
	ResourceVersion   string            `json:"resourceVersion,omitempty"`
	Generation        int64             `json:"generation,omitempty"`
	CreationTimestamp json.RawMessage   `json:"creationTimestamp,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
}

func identityOf(metadata json.RawMessage) identity {
	var i identity
	_ = json.Unmarshal(metadata, &i)
	i.Annotations = nil
	return i
}

// stub is an object of which only the metadata is left, with some of the spec unless that is nil, and why.
func stub(fields map[string]json.RawMessage, spec json.RawMessage, problem error) json.RawMessage {
	i := identityOf(fields["metadata"])
	marked := &metav1.ObjectMeta{}
	reason := problem.Error()
	store.MarkUnreadable(marked, strings.ToValidUTF8(reason[:min(len(reason), maxReason)], ""))
	i.Annotations = marked.Annotations
	metadata, _ := json.Marshal(i)
	left := map[string]json.RawMessage{"metadata": metadata}
	if spec != nil {
		left["spec"] = spec
	}
	for _, field := range []string{"apiVersion", "kind"} {
		if value, ok := fields[field]; ok {
			left[field] = value
		}
	}
	object, _ := json.Marshal(left)
	return object
}

func (g *Guard) report(kind watched, metadata json.RawMessage, part string, problem error) {
	i := identityOf(metadata)
	g.unreadable.WithLabelValues(string(kind.Kind), part).Inc()
	g.log.Warn("an object cannot be read, part of it is ignored",
		"kind", string(kind.Kind), "namespace", i.Namespace, "name", i.Name, "ignored", part, "error", problem)
}
