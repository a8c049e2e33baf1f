package app

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
)

// Logger writes one line per record, as JSON or as text for a terminal.
func Logger(c Config, out io.Writer) logr.Logger {
	if c.LogFormat == "text" {
		return logr.FromSlogHandler(slog.NewTextHandler(out, nil))
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(out, nil))
}
