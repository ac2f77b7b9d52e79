package web

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// artifact is a file for a person to look at: in PAGES_ARTIFACTS if that is set.
func artifact(t *testing.T, name string) string {
	dir := os.Getenv("PAGES_ARTIFACTS")
	if dir == "" {
		dir = t.ArtifactDir()
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	return filepath.Join(dir, name)
}
