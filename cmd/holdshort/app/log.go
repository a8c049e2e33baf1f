package app

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
)

// Logs are where the manager and the libraries below it write, one line per
// record, as JSON or as text for a terminal.
type Logs struct {
	// Ours says what the manager does.
	Ours logr.Logger
	// Libraries is for what is below: at their normal level they speak about
	// themselves (every probe that failed, every cache that started), so only
	// warnings and errors pass.
	Libraries logr.Logger
}

// NewLogs makes the logs of a configuration.
func NewLogs(c Config, out io.Writer) Logs {
	return Logs{
		Ours:      logr.FromSlogHandler(handler(c, out, slog.LevelInfo)),
		Libraries: logr.FromSlogHandler(handler(c, out, slog.LevelWarn)),
	}
}

func handler(c Config, out io.Writer, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "text" {
		return slog.NewTextHandler(out, options)
	}
	return slog.NewJSONHandler(out, options)
}
