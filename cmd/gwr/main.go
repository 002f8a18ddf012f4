package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// The exit codes, which docs/gwr.md explains.
const (
	exitFailed = 1
	exitUsage  = 2
)

// errFailed ends the program after it has printed why a request fails.
var errFailed = errors.New("the request fails")

func main() {
	err := command().Execute()
	switch {
	case errors.Is(err, errFailed):
		os.Exit(exitFailed)
	case err != nil:
		fmt.Fprintln(os.Stderr, "gwr:", err)
		os.Exit(exitUsage)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "gwr",
		Short: "Explain what proxies of Gatewright do with requests",
		Long: "gwr computes what proxies do from the objects of a cluster, with the controller's own code, so that it cannot disagree with a\n" +
			"controller of the same version. It reads objects from files and needs no cluster.",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.AddCommand(explainCommand(), versionCommand())
	return root
}
