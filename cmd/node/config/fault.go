package config

import (
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

func (fs *Faults) add(key, wrong, do string) {
	*fs = append(*fs, Fault{Key: key, Wrong: wrong, Do: do})
}
