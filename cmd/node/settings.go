package main

import (
	"reflect"

	"github.com/kith-nearby/kith/cmd/node/config"
)

// settings is the flags of every command that reads the configuration. A flag
// with a dot is the key of that name; their values are read by package config,
// as those of the file are.
type settings struct {
	Config string            `short:"c" placeholder:"FILE" help:"Configuration file (YAML)."`
	Set    map[string]string `mapsep:"none" placeholder:"KEY=VALUE" help:"Set any other key; may be repeated."`

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

// flags returns the keys that were given on the command line.
func (s *settings) flags() map[string]string {
	out := map[string]string{}
	for key, value := range s.Set {
		out[key] = value
	}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if value, ok := v.Field(i).Interface().(*string); ok && value != nil {
			out[v.Type().Field(i).Tag.Get("name")] = *value
		}
	}
	return out
}

// load reads the configuration and checks what can be checked without serving.
func (s *settings) load(c *console) (config.Config, config.Origin, error) {
	cfg, origin, err := config.Load(config.Sources{File: s.Config, Env: c.env, Flags: s.flags()})
	if err != nil {
		return cfg, origin, err
	}
	return cfg, origin, cfg.Validate()
}
