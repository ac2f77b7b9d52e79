// Package config reads the node's settings: defaults, then a YAML file, then
// environment variables, then flags; later ones win.
//
// Invariants:
//
//	G1  Load reports every fault of every source at once, each with its key, what
//	    is wrong and what to do; a key that does not exist is a fault in all of
//	    them.
//	G2  A Config whose Validate returns nil contradicts nothing that the node
//	    relies on.
//	G3  A secret is never printed: not by fmt, slog, faults or Print.
//	G4  configs/kith.example.yaml names every key and equals Default().
package config
