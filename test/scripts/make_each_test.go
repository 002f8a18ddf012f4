package scripts

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const makefile = `.PHONY: good style chart
good:
	@echo all is good
style:
	@echo a.go:1:2: too long; exit 1
chart:
	@echo the chart accepts anything >&2; exit 3
`

func TestMakeEachListsAllFailures(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, "hack/make-each.sh")
	c.write("Makefile", makefile)
	results := filepath.Join(c.dir, "results", "lint")
	c.environment = append(c.environment, "RESULTS="+results)
	out, code := c.run("hack/make-each.sh", "style", "good", "chart")
	if code == 0 {
		t.Error("it succeeded")
	}
	expect(t, out, "all is good\n", "--- make style failed:\na.go:1:2: too long\n--- make chart failed:\nthe chart accepts anything\n")
	if !strings.HasSuffix(out, "--- 2 of 3 failed: make style chart\n") {
		t.Errorf("the last line does not list the failures:\n%s", out)
	}
	if failed := c.read("results/lint/failed"); failed != "2\tstyle\n2\tchart\n" {
		t.Errorf("recorded as failed: %q", failed)
	}
	for _, target := range []string{"style", "good", "chart"} {
		if c.read("results/lint/"+target+".log") == "" {
			t.Errorf("the output of %s is not kept", target)
		}
	}
}

func TestMakeEachSucceeds(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, "hack/make-each.sh")
	c.write("Makefile", makefile)
	if out, code := c.run("hack/make-each.sh", "good"); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// TestVerifyLeavesTheCheckoutAsItIs generates a new file, another content and a removal, and a part of make generate fails.
func TestVerifyLeavesTheCheckoutAsItIs(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, "hack/verify.sh")
	c.write("Makefile", `generate:
	echo new >new; echo generated >changed; rm removed; echo generated >same
	@echo docs: no such flag; exit 1
`)
	for _, name := range []string{"changed", "removed", "docs/edited by a developer", "bin/program", ".git/HEAD"} {
		c.write(name, "before\n")
	}
	c.write("same", "generated\n")
	before := c.tree()
	out, code := c.run("hack/verify.sh")
	if code == 0 {
		t.Error("it succeeded")
	}
	expect(t, out, "docs: no such flag\n", "not as generated; run make generate and commit:\nchanged\nnew\nremoved\n", "+generated\n")
	if after := c.tree(); after != before {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
	}
}

func TestVerifySucceeds(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, "hack/verify.sh")
	c.write("Makefile", "generate:\n\t@echo generated >same\n")
	c.write("same", "generated\n")
	if out, code := c.run("hack/verify.sh"); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// tree describes all files.
func (c checkout) tree() string {
	c.t.Helper()
	var b strings.Builder
	files := os.DirFS(c.dir)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content, err := fs.ReadFile(files, path)
		b.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String() + "\n" + string(content))
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return b.String()
}

// TestTheChartIsCheckedToTheEnd with a helm that accepts a wrong value and fails for a variant and a template.
func TestTheChartIsCheckedToTheEnd(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, "hack/check-chart.sh")
	c.write("programs/helm", `#!/bin/bash
case "$*" in
lint*) ;;
*log.level=loud*) echo "kind: Deployment" ;;
*{pods}*|*replica=3*|*replicas=0*|*controllerName=team|*ipv6}*|*files.enabled=true|*redis.address=redis|*watchNamespaces={shop}) exit 1 ;;
*clusterID=east*) echo "Error: no such value" >&2; exit 1 ;;
*templates/role.yaml*) exit 1 ;;
*) echo "kind: ClusterRole
  name: all" ;;
esac
`)
	out, code := c.run("hack/check-chart.sh", filepath.Join(c.dir, "programs", "helm"))
	if code == 0 {
		t.Error("it succeeded")
	}
	expect(t, out, "the chart does not render with --set clusterID=east: Error: no such value\n", "the chart accepts --set log.level=loud\n",
		"templates/role.yaml does not render", "podLabels are not on the pods\n", "two installations share: ClusterRole all\n", "chart: ")
}
