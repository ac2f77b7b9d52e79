// Package arch is the shape of the project as tests: who may import whom, what a
// Core may not do, how large a file may grow. It reads the sources with
// go/parser, since the answer of `go list` may come stale from the test cache,
// and type-checks them without their imports, which is enough to know what a
// name stands for.
//
// Rules:
//
//	R1   Every folder with Go code stands in the table Folders with its one job,
//	     and imports of the project only what the table lets it.
//	R2   The arrows of the table Arrows do not exist, also not in tests.
//	R3   A module of the table Modules is imported only where the table says.
//	R4   A Core has no clock, goroutine, lock, channel, logger, context or I/O,
//	     and no randomness but its own.
//	R5   No package has hidden global state: no init, no default mux, registry
//	     or logger, and no package variable that a function changes.
//	R6   Files have at most 600 lines; functions 60 in a Core, 100 elsewhere.
//	R7   A package has its folder's name, which is a noun of Kith's and not util,
//	     common, base, manager or helper; its comment says what it is for.
//	R8   Tests do not sleep in real time.
//	R9   No committed file names a path of somebody's machine or the host of a
//	     package registry, or puts work off in a comment.
//	R10  The table in actors/messages.go lists every message and nothing else.
//
// When a rule is in the way, either the code is in the wrong place or the rule
// is wrong. Then change its table here, in the same commit, with the reason.
package arch
