package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set at a release: go build -ldflags "-X main.version=v1.2.3".
var version = ""

// versionName is the version of this program: that of the release, else of the
// module, else the commit.
func versionName() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	commit, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	if commit == "" {
		return "dev"
	}
	return "dev-" + commit + changed
}

type versionCommand struct{}

// Help shows examples.
func (versionCommand) Help() string { return "Examples:\n\n  kith version" }

// Run prints the version.
func (versionCommand) Run(c *console) error {
	_, err := fmt.Fprintf(c.out, "kith %s (%s %s/%s)\n", versionName(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
