package app

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gatewright/gatewright/internal/drain"
	"github.com/gatewright/gatewright/internal/geoip"
	"github.com/gatewright/gatewright/internal/ir"
)

// installCommand brings the drain program to a proxy, whose image has only Envoy. The image of this program has it in the same directory.
func installCommand() *cobra.Command {
	var pressure string
	var databases ir.GeoDatabases
	command := &cobra.Command{
		Use:   "install PATH",
		Short: "Copy " + drain.Program + " to a path and databases beside it, and write the file that Envoy reads at its start",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			if err := drain.Install(filepath.Join(filepath.Dir(self), drain.Program), args[0]); err != nil {
				return fmt.Errorf("install %s, which the image must have beside this program: %w", drain.Program, err)
			}
			if err := geoip.Install(filepath.Join(filepath.Dir(args[0]), path.Base(ir.GeoDirectory)), databases.Sources()); err != nil {
				return fmt.Errorf("install databases: %w", err)
			}
			return drain.WritePressure(pressure, false)
		},
	}
	command.Flags().StringVar(&pressure, "pressure", "", "file from which Envoy reads that all connections should go")
	for _, d := range []struct {
		name string
		path *string
	}{
		{"city", &databases.City},
		{"country", &databases.Country},
		{"asn", &databases.ASN},
		{"isp", &databases.ISP},
		{"anonymous-ip", &databases.AnonymousIP},
	} {
		command.Flags().StringVar(d.path, "geoip-"+d.name, "", "database of MaxMind to copy")
	}
	_ = command.MarkFlagRequired("pressure")
	return command
}
