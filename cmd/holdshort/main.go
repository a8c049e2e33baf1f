package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdshort/holdshort/cmd/holdshort/app"
)

// gcPercent trades memory for processor time: the manager's heap is small, most
// of it is the caches, and collecting half as often saves a tenth of its time.
const gcPercent = 200

func main() {
	config, err := app.Parse(os.Args[1:], app.Defaults())
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if err == nil {
		err = app.Run(ctrl.SetupSignalHandler(), config, app.NewLogs(config, os.Stderr))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdshort:", err)
		os.Exit(1)
	}
}
