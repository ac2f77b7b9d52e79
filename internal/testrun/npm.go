package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// npmFolders returns the folders below root that have a lock file of npm and not
// yet what it names.
func npmFolders(root fs.FS) (folders []string, err error) {
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case d.Name() != "package-lock.json":
			return nil
		}
		_, err = fs.Stat(root, path.Join(path.Dir(name), "node_modules"))
		if errors.Is(err, fs.ErrNotExist) {
			folders = append(folders, path.Dir(name))
			return nil
		}
		return err
	})
	return folders, err
}

// npmInstall installs what the tests of JavaScript need. Where it cannot, tests
// that need it are skipped, and in CI nothing is run.
func npmInstall(ctx context.Context, out io.Writer, root string, ci bool) error {
	folders, err := npmFolders(os.DirFS(root))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		fmt.Fprintf(out, "npm ci in %s\n", folder)
		cmd := exec.CommandContext(ctx, "npm", "ci", "--no-progress")
		cmd.Dir = filepath.Join(root, filepath.FromSlash(folder))
		text, err := cmd.CombinedOutput()
		switch {
		case err == nil:
		case ci:
			return fmt.Errorf("npm ci in %s: %w\n%s", folder, err, text)
		default:
			fmt.Fprintf(out, "npm ci in %s: %v: tests that need it are skipped\n", folder, err)
		}
	}
	return nil
}
