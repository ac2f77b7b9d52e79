package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"
)

// Sources is where settings come from, besides the defaults.
type Sources struct {
	File  string            // path of a YAML file; "" = none
	Env   []string          // NAME=value, as os.Environ gives; an empty value counts as not set
	Flags map[string]string // key to value, as given on the command line
}

// Origin says where the value of each key came from: "default", "file PATH",
// "env NAME" or "flag --KEY".
type Origin map[string]string

const maxFile = 1 << 20 // bytes of a configuration file

// Load reads all sources. It returns Faults if any value could not be taken;
// the Config then holds the rest. It does not Validate.
func Load(src Sources) (Config, Origin, error) {
	l := loading{config: Default(), origin: Origin{}}
	for _, e := range schema {
		l.origin[e.key] = "default"
	}
	if src.File != "" {
		l.file(src.File)
	}
	l.env(src.Env)
	l.flags(src.Flags)
	return l.config, l.origin, l.faults.Err()
}

type loading struct {
	config Config
	origin Origin
	faults Faults
}

func (l *loading) file(path string) {
	from := "file " + path
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.whole(from, "there is no such file", "check the path, or start from configs/kith.example.yaml")
		return
	case err == nil && info.Size() > maxFile:
		l.whole(from, "is larger than 1 MiB", "name a configuration file")
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		l.whole(from, "cannot be read ("+errors.Unwrap(err).Error()+")", "check the path and its permissions")
		return
	}
	l.text(from, text)
}

// text takes the YAML of a file.
func (l *loading) text(from string, text []byte) {
	tree, err := yaml.Parser().Unmarshal(text)
	if err != nil {
		l.whole(from, "is not YAML with sections and keys: "+lineOf(err), "compare with configs/kith.example.yaml")
		return
	}
	for key := range tree {
		if strings.Contains(key, ".") { // koanf would read it as a key of a section
			section, rest, _ := strings.Cut(key, ".")
			l.faults = append(l.faults, Fault{Key: key, From: from, Wrong: "there is no such key", Do: fmt.Sprintf("write %q below %q, indented", rest, section)})
			delete(tree, key)
		}
	}
	k := koanf.New(".")
	if err := k.Load(confmap.Provider(tree, ""), nil); err != nil {
		l.whole(from, "cannot be read: "+err.Error(), "compare with configs/kith.example.yaml")
		return
	}
	l.layer(k, func(string) string { return from })
}

// lineOf keeps of a YAML error where the fault is, and not the text around it,
// which may be a secret.
func lineOf(err error) string {
	msg := err.Error()
	at := strings.Index(msg, "line ")
	if at < 0 {
		return "bad syntax"
	}
	rest := msg[at:]
	if end := strings.IndexAny(rest, ":\n"); end > 0 {
		rest = rest[:end]
	}
	return "bad syntax at " + rest
}

func (l *loading) env(environ []string) {
	k := koanf.New(".")
	err := k.Load(env.Provider(".", env.Opt{
		Prefix:      EnvPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) {
			if value == "" {
				return "", nil
			}
			key := keyOfEnv(name)
			if key == "" {
				l.unknown("", "env "+name, nearest(name, envNames()))
				return "", nil
			}
			return key, value
		},
	}), nil)
	if err != nil {
		l.whole("environment", "cannot be read: "+err.Error(), "check the KITH_ variables")
		return
	}
	l.layer(k, func(key string) string { return "env " + EnvName(key) })
}

func (l *loading) flags(flags map[string]string) {
	k := koanf.New(".")
	values := make(map[string]any, len(flags))
	for key, value := range flags {
		values[key] = value
	}
	if err := k.Load(confmap.Provider(values, "."), nil); err != nil {
		l.whole("flags", "cannot be read: "+err.Error(), "see kith serve --help")
		return
	}
	l.layer(k, func(key string) string { return "flag --" + key })
}

// layer puts what one source says over what is there.
func (l *loading) layer(k *koanf.Koanf, from func(key string) string) {
	all := k.All()
	keys := make([]string, 0, len(all))
	for key := range all {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		raw := all[key]
		e, known := lookup(key)
		switch {
		case known:
			if fault := e.set(&l.config, raw); fault != nil {
				fault.From = from(key)
				l.faults = append(l.faults, *fault)
				continue
			}
			l.origin[key] = from(key)
		case sections[key]:
			if m, isMap := raw.(map[string]any); raw != nil && (!isMap || len(m) > 0) {
				l.faults = append(l.faults, Fault{Key: key, From: from(key), Wrong: "is " + describe(raw) + ", not a section", Do: "put its keys below it, indented"})
			}
		default:
			l.unknown(key, from(key), nearest(key, keyNames()))
		}
	}
}

func (l *loading) whole(from, wrong, do string) {
	l.faults = append(l.faults, Fault{From: from, Wrong: wrong, Do: do})
}

func (l *loading) unknown(key, from, near string) {
	do := "remove it; kith config print lists all keys"
	if near != "" {
		do = fmt.Sprintf("did you mean %s? If not, remove it; kith config print lists all keys", near)
	}
	l.faults = append(l.faults, Fault{Key: key, From: from, Wrong: "there is no such key", Do: do})
}

func keyNames() []string {
	names := make([]string, len(schema))
	for i, e := range schema {
		names[i] = e.key
	}
	return names
}

func envNames() []string {
	names := keyNames()
	for i, key := range names {
		names[i] = EnvName(key)
	}
	return names
}
