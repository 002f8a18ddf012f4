package app

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gatewright/gatewright/internal/drain"
)

// installCommand brings the drain program to a proxy, whose image has only Envoy. The image of this program has it in the same directory.
func installCommand() *cobra.Command {
	var pressure string
	command := &cobra.Command{
		Use:   "install PATH",
		Short: "Copy " + drain.Program + " to a path, and write the file that Envoy reads at its start",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			if err := drain.Install(filepath.Join(filepath.Dir(self), drain.Program), args[0]); err != nil {
				return fmt.Errorf("install %s, which the image must have beside this program: %w", drain.Program, err)
			}
			return drain.WritePressure(pressure, false)
		},
	}
	command.Flags().StringVar(&pressure, "pressure", "", "file from which Envoy reads that all connections should go")
	_ = command.MarkFlagRequired("pressure")
	return command
}
