package main

import (
	"path/filepath"
	"testing"
)

func TestEachBuildHasADirectoryOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "etcd-v3")
	for _, path := range []string{"etcd-v3/etcd", "etcd-v3.building/etcd", "etcd-v30/etcd"} {
		if err := writeFile(filepath.Join(filepath.Dir(dir), path), "binary"); err != nil {
			t.Fatal(err)
		}
	}
	first, err := newBuildDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := newBuildDir(dir)
	if err != nil || first == second || exists(first) || !exists(second) || exists(dir+".building") {
		t.Errorf("%s and then %s, %v", first, second, err)
	}
	if !exists(dir) || !exists(dir+"0") {
		t.Error("a build that is complete was removed")
	}
}
