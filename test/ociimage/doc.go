// Package ociimage makes images from files, so that equal files give equal bytes.
// Enter at [Image.Build], and at [Archive] for a directory such as an image layout.
// It must not know which images there are, or where they are loaded or published.
package ociimage
