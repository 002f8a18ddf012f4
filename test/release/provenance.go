package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// checksumsFile has the digests of all other files, so its signature is one for all.
const checksumsFile = "SHA256SUMS"

type jsonObject map[string]any

// provenance writes which source the files and images were built from, and how, as https://slsa.dev/spec/v1.0/provenance describes. It has
// no times, so that a second build has the same.
func (b *build) provenance(context.Context) error {
	subjects := []jsonObject{}
	names, err := b.list()
	if err != nil {
		return err
	}
	for _, name := range names {
		digest, err := b.digest(name)
		if err != nil {
			return err
		}
		subjects = append(subjects, jsonObject{"name": name, "digest": jsonObject{"sha256": digest}})
	}
	for _, name := range slices.Sorted(maps.Keys(b.named)) {
		subjects = append(subjects, jsonObject{"name": name, "digest": jsonObject{"sha256": strings.TrimPrefix(b.named[name], "sha256:")}})
	}
	page := b.repository + "/blob/" + b.commit + "/docs/developer/release.md"
	statement := jsonObject{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       subjects,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": jsonObject{
			"buildDefinition": jsonObject{
				"buildType":          page,
				"externalParameters": jsonObject{"VERSION": b.version},
				"internalParameters": jsonObject{"go": runtime.Version()},
				"resolvedDependencies": []jsonObject{
					{"uri": "git+" + b.repository + "@" + b.commit, "digest": jsonObject{"gitCommit": b.commit}},
				},
			},
			"runDetails": jsonObject{"builder": jsonObject{"id": page}},
		},
	}
	content, err := json.MarshalIndent(statement, "", "  ")
	if err != nil {
		return fmt.Errorf("write the provenance: %w", err)
	}
	return b.write("provenance.intoto.json", append(content, '\n'))
}

// checksums writes the digests of all files, as sha256sum --check reads them.
func (b *build) checksums(context.Context) error {
	names, err := b.list()
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, name := range names {
		digest, err := b.digest(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", digest, name)
	}
	return b.write(checksumsFile, []byte(text.String()))
}

func (b *build) digest(name string) (string, error) {
	content, err := os.ReadFile(filepath.Join(b.files, name))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// sign signs the checksums, if there is a key. Nothing is sent to a public log.
func (b *build) sign(ctx context.Context) error {
	if b.key == "" {
		return nil
	}
	sums := filepath.Join(b.files, checksumsFile)
	_, err := run(ctx, b.checkout, nil, b.cosign, "sign-blob", "--yes", "--key="+b.key, "--tlog-upload=false", "--use-signing-config=false",
		"--bundle="+sums+".sigstore.json", sums)
	return err
}
