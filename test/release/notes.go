package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// notes writes what the changelog of the commit says about the version.
func (b *build) notes(context.Context) error {
	changelog, err := os.ReadFile(filepath.Join(b.tree, "CHANGELOG.md"))
	if err != nil {
		return fmt.Errorf("read the changelog: %w", err)
	}
	text, err := cutNotes(string(changelog), strings.TrimPrefix(b.version, "v"))
	if err != nil {
		return err
	}
	links := relativeLink.ReplaceAllString(text, "](${1}"+b.repository+"/blob/"+b.commit+"/${2}")
	return b.write("release-notes.md", []byte(links))
}

// relativeLink is a link into the repository; from the page of a release it would lead elsewhere.
var relativeLink = regexp.MustCompile(`\]\((<?)([\w.][\w./-]*(?:#[\w-]*)?>?\))`)

// cutNotes returns the section of the version, or that of what is unreleased.
func cutNotes(changelog, version string) (string, error) {
	for _, name := range []string{version, "Unreleased"} {
		_, text, found := strings.Cut(changelog, "\n## ["+name+"]")
		if !found {
			continue
		}
		_, text, _ = strings.Cut(text, "\n") // the date
		text, _, _ = strings.Cut(text, "\n## ")
		if text = strings.TrimSpace(text); text != "" {
			return text + "\n", nil
		}
	}
	return "", errors.New("CHANGELOG.md says nothing about the version, and nothing that is unreleased")
}
