//go:build fuzz

package fuzz

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/store"
)

// shrinkTime bounds the search for a smaller set.
const shrinkTime = 2 * time.Minute

// shrink drops objects for as long as what is left fails in the same way, each try from an empty set.
func shrink(t *testing.T, set []store.Change, found error) ([]store.Change, error) {
	t.Helper()
	deadline := time.Now().Add(shrinkTime)
	var l *lab
	defer func() {
		if l != nil {
			l.close()
		}
	}()
	try := func(candidate []store.Change) error {
		if l == nil {
			l = newLab(t, fuzzobjects.HostileGateway)
		}
		err := l.apply(candidate)
		if err != nil {
			l.close()
			l = nil
			return err
		}
		if err := l.apply(nil); err != nil {
			l.close()
			l = nil
		}
		return nil
	}
	if err := try(set); !sameKind(err, found) {
		return set, fmt.Errorf("%w\n(it does not fail by itself, from an empty set: it depends on the set before)", found)
	}
	for size := (len(set) + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < len(set) && time.Now().Before(deadline); {
			candidate := slices.Delete(slices.Clone(set), from, min(from+size, len(set)))
			if err := try(candidate); sameKind(err, found) {
				set, found = candidate, err
			} else {
				from += size
			}
		}
	}
	return set, found
}

// sameKind says whether two tries went wrong in the same way.
func sameKind(a, b error) bool {
	return slices.ContainsFunc([]error{errPanic, errInvalid, errRefused, errUnanswered, errEnvoyGone}, func(kind error) bool {
		return errors.Is(a, kind) && errors.Is(b, kind)
	})
}

// text shows objects as YAML, one after the other.
func text(set []store.Change) string {
	var documents []string
	for _, c := range set {
		document, err := plain(c)
		if err != nil {
			document = []byte(err.Error())
		}
		documents = append(documents, string(document))
	}
	return strings.Join(documents, "---\n")
}

// plain is the object as a user would write it.
func plain(c store.Change) ([]byte, error) {
	text, err := json.Marshal(c.Object)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	object["kind"] = c.Kind
	delete(object, "status")
	return yaml.Marshal(object)
}
