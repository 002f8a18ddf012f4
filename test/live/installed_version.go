package live

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	deploymentName = "gatewright"
	versionLabel   = "app.kubernetes.io/version"
)

// InstalledVersion is the version of Gatewright that the installed chart is for, as releases and reports have it: v0.1.0. The program does
// not know it on the test cluster, whose image is built from a checkout.
func InstalledVersion(ctx context.Context, c client.Client) (string, error) {
	var deployment appsv1.Deployment
	if err := c.Get(ctx, client.ObjectKey{Namespace: ControllerNamespace, Name: deploymentName}, &deployment); err != nil {
		return "", fmt.Errorf("get the controller's Deployment: %w", err)
	}
	version := strings.TrimPrefix(deployment.Labels[versionLabel], "v")
	if version == "" {
		return "", errors.New("the controller's Deployment has no label " + versionLabel)
	}
	return "v" + version, nil
}
