package main

import (
	"io"
	"log/slog"
	"time"

	"github.com/lmittmann/tint"

	"github.com/kith-nearby/kith/cmd/node/config"
)

// newLogger writes to w as the configuration says. Positions are in no log, and
// neither are tokens and secrets; that is up to whoever logs, and tested.
func newLogger(w io.Writer, cfg config.Log) *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(cfg.Level)) != nil {
		level = slog.LevelInfo
	}
	if cfg.Format == "text" || cfg.Format == "auto" && terminal(w) {
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !terminal(w)}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: readable}))
}

// readable writes durations with their unit: JSON has nanoseconds otherwise.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
