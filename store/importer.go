package store

import (
	"context"
	"iter"

	"github.com/kith-nearby/kith/presence"
)

// Pair is a friendship to import.
type Pair struct{ A, B presence.PublicID }

// ImportStats counts what became of the pairs of an import.
type ImportStats struct {
	Pairs   int // read
	Users   int // created
	Friends int // friendships that were not there before
	Known   int // were friends already
	Self    int // named the same user twice
	TooMany int // one of the two can have no more friends
	Blocked int // one of the two blocks the other: an import does not undo that
}

// Importer takes friendships in bulk.
type Importer interface {
	// ImportFriends makes all pairs friends and creates users as needed, in
	// transactions of many pairs. It is idempotent, so after an error the whole
	// import can be run again. An error from pairs ends it, with what was read
	// before kept. progress, if not nil, is told the pairs done after each
	// transaction.
	ImportFriends(ctx context.Context, pairs iter.Seq2[Pair, error], now presence.Millis, progress func(done int)) (ImportStats, error)
}
