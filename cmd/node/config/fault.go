package config

import (
	"errors"
	"fmt"
	"strings"
)

// Fault is one thing that is wrong with the configuration.
type Fault struct {
	Key   string // as in the YAML file: "node.listen"; "" = the whole source
	From  string // where it was set: "file kith.yaml", "env KITH_NODE_LISTEN"…; "" = anywhere
	Wrong string // what is wrong
	Do    string // what to do about it
}

func (f Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.Key)
	if f.From != "" {
		if f.Key != "" {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "(%s)", f.From)
	}
	fmt.Fprintf(&b, ": %s; %s", f.Wrong, f.Do)
	return b.String()
}

// Faults is every fault found, as one error.
type Faults []Fault

func (fs Faults) Error() string {
	var b strings.Builder
	if len(fs) == 1 {
		b.WriteString("the configuration has 1 fault:")
	} else {
		fmt.Fprintf(&b, "the configuration has %d faults:", len(fs))
	}
	for _, f := range fs {
		b.WriteString("\n  ")
		b.WriteString(f.Error())
	}
	return b.String()
}

// Err returns nil if there is no fault.
func (fs Faults) Err() error {
	if len(fs) == 0 {
		return nil
	}
	return fs
}

// Join returns the faults of all errors as one, or nil. A key that is at fault
// in one error is left out of those after it, which saw its default instead. An
// error without Faults is returned as it is.
func Join(errs ...error) error {
	var all Faults
	seen := map[string]bool{}
	for _, err := range errs {
		var fs Faults
		switch {
		case err == nil:
			continue
		case !errors.As(err, &fs):
			return err
		}
		before := len(all)
		for _, f := range fs {
			if f.Key == "" || !seen[f.Key] {
				all = append(all, f)
			}
		}
		for _, f := range all[before:] {
			seen[f.Key] = true
		}
	}
	return all.Err()
}

func (fs *Faults) add(key, wrong, do string) {
	*fs = append(*fs, Fault{Key: key, Wrong: wrong, Do: do})
}
