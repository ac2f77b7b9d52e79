// Package bench measures Kith at the level of its actors and of whole nodes,
// beside a peer or a floor that does the same job in the same run. It has no
// code of its own but in tests: `make bench` runs it, docs/benchmarks.md says
// how to read it.
//
// Rules of measuring:
//
//	B1  A ratio is made of figures of one run: the two sides take turns, and the
//	    median of the rounds' ratios counts.
//	B2  Whatever a side was asked to do it must have done: every benchmark counts
//	    the work at its end and fails if some of it is missing.
//	B3  What makes the load shares the machine, and its cost is in the figure.
//	B4  Memory is measured in a process that does nothing else, after a garbage
//	    collection.
//	B5  Latency counts from the moment at which a fix was to be sent, whether or
//	    not the sender was late.
package bench
