package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdshort/holdshort/cmd/holdshort/app"
)

func main() {
	config, err := app.Parse(os.Args[1:], app.Defaults())
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = app.Run(ctrl.SetupSignalHandler(), config, app.NewLogs(config, os.Stderr))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdshort:", err)
		os.Exit(1)
	}
}
