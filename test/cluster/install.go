package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	releaseName      = "gatewright"
	releaseNamespace = "gatewright-system"
	safeUpgrades     = "safe-upgrades.gateway.networking.k8s.io"
)

func installCommand() *cobra.Command {
	var o installOptions
	cmd := withCluster("install", "Install the Gateway API and Gatewright's chart into the cluster", func(
		ctx context.Context, l layout,
	) error {
		return install(ctx, l, o)
	})
	cmd.Flags().StringVar(&o.channel, "channel", "standard", "release channel of the Gateway API: standard or experimental")
	cmd.Flags().StringArrayVar(&o.values, "set", nil, "a value for the chart, as helm's --set; can be given many times")
	cmd.Flags().BoolVar(&o.inference, "inference", false, "install the Gateway API Inference Extension too, and load its endpoint picker")
	return cmd
}

// installOptions are the flags of the command.
type installOptions struct {
	channel   string
	values    []string
	inference bool
}

func install(ctx context.Context, l layout, o installOptions) error {
	if o.channel != "standard" && o.channel != "experimental" {
		return fmt.Errorf("channel %q is neither standard nor experimental", o.channel)
	}
	if err := requireRunning(l); err != nil {
		return err
	}
	if err := step(ctx, "Gateway API, "+o.channel+" channel", func(ctx context.Context) error {
		return applyGatewayAPI(ctx, l, o.channel)
	}); err != nil {
		return err
	}
	if o.inference {
		if err := installInference(ctx, l); err != nil {
			return err
		}
	}
	chart := filepath.Join(l.root, "charts", "gatewright")
	if !exists(filepath.Join(chart, "Chart.yaml")) {
		fmt.Println("          chart: skipped, there is no charts/gatewright in this checkout")
		return nil
	}
	if err := loadGatewright(ctx, l); err != nil {
		return err
	}
	if _, err := helm.build(ctx, l); err != nil {
		return err
	}
	values := o.values
	if slices.Contains(values, "rateLimit.enabled=true") {
		if err := step(ctx, "Redis", func(ctx context.Context) error { return applyRedis(ctx, l) }); err != nil {
			return err
		}
		values = append(values, "rateLimit.redis.address=redis.redis.svc:6379")
	}
	if err := step(ctx, "chart", func(ctx context.Context) error {
		return applyChart(ctx, l, chart, values)
	}); err != nil {
		return err
	}
	fmt.Print("\nGatewright is installed. Next:\n" +
		"  make shell                   then, inside the cluster's network:\n" +
		"    kubectl get gatewayclass\n" +
		"    kubectl --namespace gatewright-system logs deployment/gatewright --follow\n" +
		"    curl the address that a Gateway shows in its status\n")
	return nil
}

// redis is a Redis without persistence, in a namespace of its own.
const redis = `apiVersion: v1
kind: Namespace
metadata: {name: redis}
---
apiVersion: v1
kind: Service
metadata: {name: redis, namespace: redis}
spec: {selector: {app: redis}, ports: [{name: redis, port: 6379}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: redis, namespace: redis}
spec:
  selector: {matchLabels: {app: redis}}
  template:
    metadata: {labels: {app: redis}}
    spec:
      containers:
        - name: redis
          image: ` + redisImage + `
          imagePullPolicy: Never
          readinessProbe: {tcpSocket: {port: 6379}, periodSeconds: 1}
`

// applyRedis runs the Redis that the rate limit service counts in.
func applyRedis(ctx context.Context, l layout) error {
	manifest := l.path("redis.yaml")
	if err := writeFile(manifest, redis); err != nil {
		return err
	}
	if err := applyFiles(ctx, l, []string{manifest}); err != nil {
		return err
	}
	return kubectl(ctx, l, "--namespace", "redis", "rollout", "status", "deployment/redis", "--timeout=60s")
}

// applyGatewayAPI takes the definitions from the version of the Gateway API that Gatewright is built with.
func applyGatewayAPI(ctx context.Context, l layout, channel string) error {
	dir, err := moduleDir(ctx, l, "sigs.k8s.io/gateway-api")
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "config", "crd", channel, "gateway.*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("there are no definitions in %s", filepath.Join(dir, "config", "crd", channel))
	}
	var policies, definitions []string
	for _, f := range files {
		if strings.Contains(f, "_vap_") {
			policies = append(policies, f)
		} else {
			definitions = append(definitions, f)
		}
	}
	// The policy forbids the experimental channel on top of the standard one, which is what a
	// developer who asks for it wants. It is applied again at the end, because it takes the API
	// server a moment to forget it and the definitions may have to be tried more than once.
	if err := kubectl(ctx, l, "delete", "--ignore-not-found",
		"validatingadmissionpolicy,validatingadmissionpolicybinding", safeUpgrades); err != nil {
		return err
	}
	if err := eventually(ctx, time.Minute, func(ctx context.Context) error {
		return applyFiles(ctx, l, definitions)
	}); err != nil {
		return err
	}
	if err := kubectl(
		ctx, l, "wait", "--for=condition=Established", "--timeout=60s", "--filename", strings.Join(definitions, ","),
	); err != nil {
		return err
	}
	return applyFiles(ctx, l, policies)
}

// installInference takes the definitions from the version of the Inference Extension that Gatewright is built with.
func installInference(ctx context.Context, l layout) error {
	if err := loadLwepp(ctx, l); err != nil {
		return err
	}
	return step(ctx, "Gateway API Inference Extension", func(ctx context.Context) error {
		dir, err := moduleDir(ctx, l, "sigs.k8s.io/gateway-api-inference-extension")
		if err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(dir, "config", "crd", "bases", "*.yaml"))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("there are no definitions in %s", dir)
		}
		if err := applyFiles(ctx, l, files); err != nil {
			return err
		}
		return kubectl(ctx, l, "wait", "--for=condition=Established", "--timeout=60s", "--filename", strings.Join(files, ","))
	})
}

// moduleDir is where the source of a module is that Gatewright is built with.
func moduleDir(ctx context.Context, l layout, name string) (string, error) {
	var out string
	err := download(ctx, name, func(ctx context.Context) (err error) {
		out, err = invocation{dir: l.root, env: []string{goToolchain}, argv: []string{"go", "mod", "download", "-json", name}}.run(ctx)
		return err
	})
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &module); err != nil {
		return "", fmt.Errorf("find the module %s: %w", name, err)
	}
	return module.Dir, nil
}

func applyFiles(ctx context.Context, l layout, files []string) error {
	return kubectl(ctx, l, "apply", "--server-side", "--force-conflicts", "--filename", strings.Join(files, ","))
}

func applyChart(ctx context.Context, l layout, chart string, values []string) error {
	dir, err := helm.dir(ctx, l)
	if err != nil {
		return err
	}
	namespaceManifest := fmt.Sprintf(
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q,"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`,
		releaseNamespace,
	)
	manifest := l.path("namespace.json")
	if err := writeFile(manifest, namespaceManifest); err != nil {
		return err
	}
	if err := applyFiles(ctx, l, []string{manifest}); err != nil {
		return err
	}
	// The tag stays the same while the image changes, so the digest is what replaces running pods.
	images, err := loadedImages(ctx)
	if err != nil {
		return err
	}
	argv := []string{
		filepath.Join(dir, "helm"), "upgrade", "--install", releaseName, chart,
		"--kubeconfig", l.adminKubeconfig(), "--namespace", releaseNamespace,
		"--set", "image.repository=" + gatewrightRepository,
		"--set", "image.tag=" + gatewrightTag,
		"--set", "image.pullPolicy=IfNotPresent",
		"--set", `podAnnotations.gatewright\.dev/image-digest=` + images[gatewrightRepository+":"+gatewrightTag],
	}
	deployments := []string{releaseName}
	for _, value := range values {
		argv = append(argv, "--set", value)
		if value == "rateLimit.enabled=true" {
			deployments = append(deployments, releaseName+"-ratelimit")
		}
	}
	if _, err := run(ctx, insideNamespace(argv...)...); err != nil {
		return err
	}
	for _, name := range deployments {
		if err := kubectl(ctx, l, "--namespace", releaseNamespace, "rollout", "status", "deployment/"+name, "--timeout=180s"); err != nil {
			return err
		}
	}
	return nil
}

func kubectl(ctx context.Context, l layout, argv ...string) error {
	dir, err := kube.dir(ctx, l)
	if err != nil {
		return err
	}
	argv = append([]string{filepath.Join(dir, "kubectl"), "--kubeconfig", l.adminKubeconfig()}, argv...)
	_, err = run(ctx, insideNamespace(argv...)...)
	return err
}
