package main

import (
	"os"
	"strings"
	"testing"
)

func TestDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	want, err := document()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../" + documentPath)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not as generated; run make generate", documentPath)
	}
	if !strings.Contains(want, "| all | 621 |") {
		t.Error("a field of the list is lost")
	}
}

func TestHas(t *testing.T) {
	t.Parallel()
	spec := specOf("Backend")
	for path, want := range map[string]bool{
		"endpoints[].ip.port": true, "tls.minVersion": true, "tls.caCertificateRefs[]": true, "endpoints.ip": false, "endpoints[].ip[]": false,
		"none": false, "fallback.x": false,
	} {
		if has(spec, path) != want {
			t.Errorf("%s: %t", path, !want)
		}
	}
	if specOf("None") != nil {
		t.Error("a kind that does not exist has a spec")
	}
}

func TestCover(t *testing.T) {
	t.Parallel()
	all := map[string]note{
		"Backend a.*": {excluded, "begins so"}, "Backend a.b": {excluded, "itself"}, "* s.dns.*": {other, "BackendTrafficPolicy dns"},
		"Backend wrong": {other, "BackendTrafficPolicy none"},
	}
	for path, want := range map[string]note{
		"a.c": {excluded, "begins so"}, "a.b": {excluded, "itself"}, "x.s.dns.*": {other, "`dns` of a BackendTrafficPolicy"},
		"none": {notYet, ""},
	} {
		if got, _, err := cover(all, "Backend", path); got != want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", path, got, err, want)
		}
	}
	if _, _, err := cover(all, "Backend", "wrong"); err == nil {
		t.Error("a field that does not exist covers another")
	}
}
