// Command textlint checks the text of the repository: the terms in code and docs, the length of lines in everything but Go, the format
// of decision records, and the tests, links and paths that Markdown names. Enter at main. docs/glossary.md is its only source of terms: no
// term is written here.
package main
