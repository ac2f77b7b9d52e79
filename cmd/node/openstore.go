package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/store/sqlite"
)

// openStore opens the database of the configuration and makes its directory.
func openStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (*sqlite.DB, error) {
	path := strings.TrimPrefix(cfg.Store.URL, "sqlite:")
	if !filepath.IsAbs(path) {
		path = filepath.Join(cfg.Node.Data, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w; set node.data to one that this user may write to", err)
	}
	return sqlite.Open(ctx, path, sqlite.Options{Logger: log})
}

// quietLogger is for commands that say themselves what went wrong.
func quietLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }
