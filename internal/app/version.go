package app

import (
	"fmt"
	"io"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/version"
)

// component is the part of Gatewright that this program is.
const component = "controller"

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and those of Envoy and the Gateway API that it is made for",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := io.WriteString(c.OutOrStdout(), version.Current().Text(
				version.Target{Name: "envoy", Version: render.EnvoyVersion},
				version.Target{Name: "gatewayAPI", Version: consts.BundleVersion},
			))
			if err != nil {
				return fmt.Errorf("print the version: %w", err)
			}
			return nil
		},
	}
}

// measureBuild adds a metric that is always 1 and whose labels say which build runs.
func measureBuild(registerer prometheus.Registerer, build version.Info) {
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "gatewright_build_info", Help: "Always 1. The labels are the version of the controller, its commit, and that of Go.",
	}, []string{"version", "revision", "goversion"})
	gauge.WithLabelValues(build.Version, build.Revision, build.Go).Set(1)
	registerer.MustRegister(gauge)
}
