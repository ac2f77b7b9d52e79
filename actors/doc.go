// Package actors is the contract between Kith's actors and what runs them, and
// messages.go, all that crosses between actors.
//
// A Core is plain data with one owner. It has no goroutine, lock, clock, logger,
// context or I/O: time is an argument, and what it wants done it appends to an
// Outbox. So every rule can be tested by calling Step, and a whole cluster can
// be run in one test from a seed (actors/actorstest).
//
// Invariants:
//
//	A1  Step is called by one goroutine at a time, and never again after the
//	    Core put a Stop into its Outbox or panicked.
//	A2  Effects are applied in the order in which they were appended.
//	A3  A message is immutable once sent, and so is everything it points to.
//	A4  Messages of one sender to one receiver arrive in order, at most once.
//	    Across nodes a loss is told to both ends as a Resync.
//	A5  A Core that asked for a Timer gets a Tick at or after that time, once; a
//	    new Timer replaces the one before.
package actors
