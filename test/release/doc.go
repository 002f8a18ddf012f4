// Command release makes the files of a release from the commit of a checkout: images, charts, manifests, and what proves their origin.
// Enter at release, in main.go, which lists the steps in order; each step has a file with its name.
// It must not know a registry, and nothing that differs between two builds of the same commit may get into a file.
package main
