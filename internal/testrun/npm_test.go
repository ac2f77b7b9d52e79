package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestNPMFolders_are_those_without_what_they_need(t *testing.T) {
	file := &fstest.MapFile{}
	folders, err := npmFolders(fstest.MapFS{
		"a/package-lock.json":                file,
		"b/package-lock.json":                file,
		"b/node_modules/x/package-lock.json": file,
		"c/d/package-lock.json":              file,
		"e/package.json":                     file,
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c/d"}, folders)
}

func TestNPMInstall_fails_in_CI_only(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package-lock.json"), []byte("{}"), 0o600))
	t.Setenv("PATH", "") // no npm
	var out strings.Builder
	require.ErrorContains(t, npmInstall(t.Context(), &out, dir, true), "npm ci in .")
	require.NoError(t, npmInstall(t.Context(), &out, dir, false))
	require.Contains(t, out.String(), "tests that need it are skipped")
}
