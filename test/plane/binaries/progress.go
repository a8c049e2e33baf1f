package binaries

import (
	"fmt"
	"io"
	"os"
	"time"
)

// reportProgress says from time to time how far a build is: every second on
// one line of a terminal, every 15 seconds elsewhere, where each line stays.
// The returned function ends it.
func reportProgress(log io.Writer, progress func() string) func() {
	interval, before, after := 15*time.Second, "", "\n"
	if isTerminal(log) {
		interval, before, after = time.Second, "\r", ""
	}
	quit, done := make(chan struct{}), make(chan struct{})
	started := time.Now()
	go func() {
		defer close(done)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for wrote := false; ; wrote = true {
			select {
			case <-quit:
				if wrote && after == "" {
					fmt.Fprintln(log)
				}
				return
			case <-tick.C:
				fmt.Fprint(log, before, progressLine(progress(), time.Since(started)), after)
			}
		}
	}()
	return func() { close(quit); <-done }
}

func progressLine(progress string, elapsed time.Duration) string {
	return fmt.Sprintf("plane: %s, %s so far", progress, elapsed.Round(time.Second))
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
