package main

import (
	"maps"
	"reflect"

	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/gateway"
)

// source is the flags that say where the configuration is. Others win over them.
type source struct {
	Config string            `short:"c" placeholder:"FILE" help:"Configuration file (YAML)."`
	Set    map[string]string `mapsep:"none" placeholder:"KEY=VALUE" help:"Set a key of the configuration; may be repeated."`
}

// load reads the configuration and checks what can be checked without serving.
// flags are keys that the command has flags for.
func (s *source) load(c *console, flags map[string]string) (config.Config, config.Origin, error) {
	cfg, origin, err := s.read(c, flags)
	return cfg, origin, config.Join(err, cfg.Validate())
}

func (s *source) read(c *console, flags map[string]string) (config.Config, config.Origin, error) {
	all := maps.Clone(s.Set)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, flags)
	return config.Load(config.Sources{File: s.Config, Env: c.env, Flags: all})
}

// signing is the flags of commands that make tokens.
type signing struct {
	Secret string `placeholder:"SECRET" help:"The node's auth.hs256_secret. Others on this machine see flags; KITH_AUTH_HS256_SECRET they do not."`
	source
}

func (s *signing) load(c *console) (config.Config, *gateway.Auth, error) {
	flags := map[string]string{}
	if s.Secret != "" {
		flags["auth.hs256_secret"] = s.Secret
	}
	cfg, _, err := s.read(c, flags)
	if err := config.Join(err, cfg.ValidateServe()); err != nil {
		return cfg, nil, err
	}
	auth, err := newAuth(&cfg)
	return cfg, auth, err
}

// settings is the flags of commands that are about the configuration as a whole.
// A flag with a dot is the key of that name; their values are read by package
// config, as those of the file are.
type settings struct {
	source

	NodeName   *string `name:"node.name" group:"Keys of the configuration" placeholder:"NAME" help:"Name of the node."`
	NodeListen *string `name:"node.listen" group:"Keys of the configuration" placeholder:"HOST:PORT" help:"Public address."`
	NodeAdmin  *string `name:"node.admin" group:"Keys of the configuration" placeholder:"HOST:PORT" help:"Address for metrics and the operator."`
	NodeData   *string `name:"node.data" group:"Keys of the configuration" placeholder:"DIR" help:"Directory for data."`
	PublicURL  *string `name:"node.public_url" group:"Keys of the configuration" placeholder:"URL" help:"How clients reach the node."`
	Secret     *string `name:"auth.hs256_secret" group:"Keys of the configuration" placeholder:"SECRET" help:"Signs user tokens. Others on this machine see flags; KITH_AUTH_HS256_SECRET they do not."`
	AutoCreate *string `name:"auth.auto_create" group:"Keys of the configuration" placeholder:"BOOL" help:"Make users at their first connect."`
	RadiusM    *string `name:"presence.radius_m" group:"Keys of the configuration" placeholder:"M" help:"Metres within which a friend is shown."`
	StaleAfter *string `name:"presence.stale_after" group:"Keys of the configuration" placeholder:"TIME" help:"When a silent friend disappears."`
	StoreURL   *string `name:"store.url" group:"Keys of the configuration" placeholder:"URL" help:"Database, such as sqlite:kith.db."`
	LogLevel   *string `name:"log.level" group:"Keys of the configuration" placeholder:"LEVEL" help:"debug, info, warn or error."`
	LogFormat  *string `name:"log.format" group:"Keys of the configuration" placeholder:"FORMAT" help:"auto, text or json."`
}

// read reads the configuration. It does not check it.
func (s *settings) read(c *console) (config.Config, config.Origin, error) {
	flags := map[string]string{}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if key, isKey := v.Type().Field(i).Tag.Lookup("name"); isKey && !v.Field(i).IsNil() {
			flags[key] = v.Field(i).Elem().String()
		}
	}
	return s.source.read(c, flags)
}
