package main

import (
	"fmt"

	"github.com/kith-nearby/kith/cmd/node/config"
)

type configCommand struct {
	Check configCheckCommand `cmd:"" help:"Say whether a node would start with it, or all that is wrong."`
	Print configPrintCommand `cmd:"" help:"Print all keys with their values and where each comes from. Secrets are masked."`
}

type configCheckCommand struct{ settings }

// Help shows examples.
func (configCheckCommand) Help() string {
	return "Examples:\n\n  kith config check --config kith.yaml"
}

// Run checks.
func (cmd *configCheckCommand) Run(c *console) error {
	cfg, origin, err := cmd.read(c)
	if err := config.Join(err, cfg.ValidateServe()); err != nil {
		return err
	}
	set := 0
	for _, from := range origin {
		if from != "default" {
			set++
		}
	}
	_, err = fmt.Fprintf(c.out, "the configuration is good: %d of %d keys set, the others have their defaults\n", set, len(origin))
	return err
}

type configPrintCommand struct{ settings }

// Help shows examples.
func (configPrintCommand) Help() string {
	return "Examples:\n\n  kith config print\n  kith config print --config kith.yaml --node.name n2"
}

// Run prints.
func (cmd *configPrintCommand) Run(c *console) error {
	cfg, origin, err := cmd.read(c)
	if err != nil {
		return err
	}
	return config.Print(c.out, cfg, origin)
}
