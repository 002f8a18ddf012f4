package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/version"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and those of Envoy and the Gateway API that are computed with",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), version.Current().Text(
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
