package main

import (
	"fmt"
	"time"

	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
)

type tokenCommand struct {
	User string        `arg:"" help:"Public id of the user."`
	TTL  time.Duration `name:"ttl" default:"24h" help:"How long the token holds."`
	signing
}

// Help shows examples.
func (tokenCommand) Help() string {
	return `The token is signed with auth.hs256_secret, which must be the node's. It is the
last line of the output, alone.

Examples:

  kith token alice --config kith.yaml
  kith token alice --ttl 15m --config kith.yaml`
}

// Run prints a token.
func (cmd *tokenCommand) Run(c *console) error {
	_, auth, err := cmd.load(c)
	if err != nil {
		return err
	}
	user, err := presence.ParsePublicID(cmd.User)
	if err != nil {
		return usageError{err}
	}
	token, err := auth.Issue(user, cmd.TTL, c.now())
	if err != nil {
		return usageError{err}
	}
	_, err = fmt.Fprintln(c.out, token)
	return err
}

// newAuth returns what checks and signs tokens, or all that is missing for it.
func newAuth(cfg *config.Config) (*gateway.Auth, error) {
	if err := cfg.ValidateServe(); err != nil {
		return nil, err
	}
	keys := make([]string, len(cfg.Auth.APIKeys))
	for i, key := range cfg.Auth.APIKeys {
		keys[i] = key.Reveal()
	}
	return gateway.NewAuth(gateway.AuthConfig{HS256Secret: cfg.Auth.HS256Secret.Reveal(), APIKeys: keys})
}
