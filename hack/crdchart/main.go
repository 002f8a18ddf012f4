package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// maxDescription is how many bytes the description of a field may have, as in Gatewright's own definitions. Helm keeps the whole chart in
// one Secret for each revision, which may have 1 MiB.
const maxDescription = 512

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := run(root); err != nil {
		fmt.Fprintln(os.Stderr, "crdchart:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		return fmt.Errorf("find the module of the Gateway API: %w", err)
	}
	gatewayAPI := filepath.Join(strings.TrimSpace(string(module)), "config", "crd")
	for name, source := range map[string]string{
		"gatewright":   filepath.Join(root, "charts", "gatewright", "files", "crds"),
		"standard":     filepath.Join(gatewayAPI, "standard"),
		"experimental": filepath.Join(gatewayAPI, "experimental"),
	} {
		if err := write(source, filepath.Join(root, "charts", "gatewright-crds", "files", name)); err != nil {
			return err
		}
	}
	return nil
}

// write makes a folder that has the definitions of another one, as JSON without spaces, and nothing else.
func write(source, folder string) error {
	files, err := filepath.Glob(filepath.Join(source, "*_*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("there are no definitions in %s", source)
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var object map[string]any
		if err := yaml.Unmarshal(text, &object); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		if object["kind"] != "CustomResourceDefinition" {
			continue // the policy against unsafe upgrades
		}
		shorten(object)
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(object); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml") + ".json"
		if err := os.WriteFile(filepath.Join(folder, name), line.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// shorten cuts long descriptions at the end of a word.
func shorten(node any) {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			shorten(item)
		}
	case map[string]any:
		for key, value := range node {
			text, isText := value.(string)
			if key != "description" || !isText {
				shorten(value)
				continue
			}
			if len(text) > maxDescription {
				text = text[:maxDescription]
				node[key] = text[:max(0, strings.LastIndexAny(text, " \n"))]
			}
		}
	}
}
