package model

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// Record is one thing that a control plane saw of a live Envoy: that it connected, what it asked, or what it was sent.
type Record struct {
	// At is how long after the first record it was.
	At       time.Duration
	Request  *discoveryv3.DeltaDiscoveryRequest
	Response *discoveryv3.DeltaDiscoveryResponse
}

// line is how a record is stored. One without a message is a connection.
type line struct {
	Milliseconds int64  `json:"ms"`
	Request      []byte `json:"request,omitempty"`
	Response     []byte `json:"response,omitempty"`
}

// Write stores records.
func Write(out io.Writer, records []Record) error {
	packed := gzip.NewWriter(out)
	for _, r := range records {
		l := line{Milliseconds: r.At.Milliseconds()}
		var err error
		if r.Request != nil {
			l.Request, err = proto.Marshal(r.Request)
		}
		if r.Response != nil {
			l.Response, err = proto.Marshal(r.Response)
		}
		if err != nil {
			return fmt.Errorf("store a message: %w", err)
		}
		if err := json.NewEncoder(packed).Encode(l); err != nil {
			return fmt.Errorf("store a record: %w", err)
		}
	}
	return packed.Close()
}

// Read is the inverse of Write.
func Read(in io.Reader) ([]Record, error) {
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	var records []Record
	for decoder := json.NewDecoder(bufio.NewReader(unpacked)); ; {
		var l line
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			return records, nil
		} else if err != nil {
			return nil, fmt.Errorf("read a record: %w", err)
		}
		r := Record{At: time.Duration(l.Milliseconds) * time.Millisecond}
		if l.Request != nil {
			r.Request = &discoveryv3.DeltaDiscoveryRequest{}
			err = proto.Unmarshal(l.Request, r.Request)
		}
		if l.Response != nil {
			r.Response = &discoveryv3.DeltaDiscoveryResponse{}
			err = errors.Join(err, proto.Unmarshal(l.Response, r.Response))
		}
		if err != nil {
			return nil, fmt.Errorf("read a message: %w", err)
		}
		records = append(records, r)
	}
}

// Replay gives the responses of a recording to the model, at the times of the recording, and compares what it sends of each type, in order,
// with what Envoy sent.
func Replay(records []Record, o Options) error {
	start := time.Unix(0, 0)
	now := start
	o.Now = func() time.Time { return now }
	e := New(o)
	sent, recorded := map[string][]string{}, map[string][]string{}
	note := func(into map[string][]string) func(*discoveryv3.DeltaDiscoveryRequest) {
		return func(r *discoveryv3.DeltaDiscoveryRequest) {
			into[r.GetTypeUrl()] = append(into[r.GetTypeUrl()], summary(r))
		}
	}
	for _, r := range records {
		for next := e.Deadline(); !next.IsZero() && !next.After(start.Add(r.At)); next = e.Deadline() {
			now = next
			e.Tick()
		}
		now = start.Add(r.At)
		switch {
		case r.Request != nil:
			note(recorded)(r.Request)
		case r.Response != nil:
			e.Receive(r.Response)
		default:
			e.Disconnect()
			for _, all := range []map[string][]string{sent, recorded} {
				for t := range all {
					all[t] = append(all[t], "a new stream")
				}
			}
			e.Connect(note(sent))
		}
	}
	var problems []error
	for _, t := range []string{clusterType, endpointType, listenerType, scopeType, routeType, secretType} {
		for i := range max(len(sent[t]), len(recorded[t])) {
			model, envoy := at(sent[t], i), at(recorded[t], i)
			if model != envoy {
				problems = append(problems, fmt.Errorf("%s, message %d: Envoy sent %q, the model %q", t, i, envoy, model))
				break
			}
		}
	}
	return errors.Join(problems...)
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "nothing"
}

// summary is what of a request depends on the state of Envoy.
func summary(r *discoveryv3.DeltaDiscoveryRequest) string {
	var parts []string
	if r.GetResponseNonce() != "" {
		parts = append(parts, "nonce "+r.GetResponseNonce())
	}
	if r.GetErrorDetail() != nil {
		parts = append(parts, "NACK")
	}
	for _, name := range r.GetResourceNamesSubscribe() {
		parts = append(parts, "+"+name)
	}
	for _, name := range r.GetResourceNamesUnsubscribe() {
		parts = append(parts, "-"+name)
	}
	for name, version := range r.GetInitialResourceVersions() {
		parts = append(parts, name+"="+version)
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}
