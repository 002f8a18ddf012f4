package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// architectures are those of Linux that programs and images are built for.
var architectures = []string{"amd64", "arm64"}

// programNames are the commands that images have.
var programNames = []string{"gatewright", "gatewright-drain"}

// program is where programs has put a program.
func (b *build) program(name, architecture string) string {
	return filepath.Join(b.work, architecture, name)
}

// programs builds each program for each architecture, with its bill of materials.
func (b *build) programs(ctx context.Context) error {
	const variable = "github.com/gatewright/gatewright/internal/version."
	flags := fmt.Sprintf("-s -w -X %sversion=%s -X %scommit=%s", variable, b.version, variable, b.commit)
	for _, architecture := range architectures {
		// Whatever else the environment says does not matter.
		env := []string{
			"GOOS=linux", "GOARCH=" + architecture, "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0",
			"GOFLAGS=-trimpath", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off",
		}
		for _, name := range programNames {
			fmt.Printf("build %s for linux/%s\n", name, architecture)
			file := b.program(name, architecture)
			if _, err := run(ctx, b.tree, env, "go", "build", "-buildvcs=false", "-ldflags", flags, "-o", file, "./cmd/"+name); err != nil {
				return err
			}
			bill, err := run(ctx, b.tree, nil, b.cyclonedx, "bin", "-json", "-std", "-noserial", "-notimestamp", "-version="+b.version, file)
			if err != nil {
				return err
			}
			if err := b.write(fmt.Sprintf("%s-%s-linux-%s.cdx.json", name, b.version, architecture), []byte(b.nameAPI(bill))); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameAPI corrects a bill of materials, which names the module api by its directory.
func (b *build) nameAPI(bill string) string {
	const module = "github.com/gatewright/gatewright/api"
	return strings.NewReplacer(
		"pkg:golang/./api@(devel)", "pkg:golang/"+module+"@"+b.version,
		`"name": "./api"`, `"name": "`+module+`"`,
		`"version": "(devel)"`, `"version": "`+b.version+`"`,
	).Replace(bill)
}
