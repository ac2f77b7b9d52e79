// Package store says what Kith keeps on disk and how: users, friendships with
// requests, blocks and shares, and the history of fixes. store/sqlite and
// store/postgres keep it; store/storetest is the contract that both must pass.
//
// Invariants:
//
//	S1  A UserID is never given twice, also after an erase, and is at most
//	    presence.MaxUserID.
//	S2  Friendship is mutual: both directions exist or neither.
//	S3  The Rev of a friendship rises with every change of it by either side, also
//	    over an end and a new beginning; so does a user's AllRev.
//	S4  History is durable when Append returns nil, and holds each (user, device,
//	    seq, ts) once, however often it is appended, where ts is the time that the
//	    device sent, or the server's if it sent none (presence.Fix.Stamp).
//	S5  To someone who is blocked, the blocker does not exist (ErrNotFound).
//	S6  After Erase the user does not exist, for nobody and in no answer. After
//	    EraseHistory nothing of the user is left but the fact that the UserID is
//	    used; it comes to that also if nobody calls it.
package store

import (
	"context"
	"errors"

	"github.com/kith-nearby/kith/presence"
)

// Errors that every store returns, wrapped or not.
var (
	ErrNotFound    = errors.New("store: not found")
	ErrSelf        = errors.New("store: the two users are the same")
	ErrTooMany     = errors.New("store: a user can have no more friends")
	ErrUnavailable = errors.New("store: the database does not answer")
	ErrCursor      = errors.New("store: the cursor is not one that a query gave")
)

// MaxFriends is how many friends a user can have.
const MaxFriends = 5000

// User is a person as stored.
type User struct {
	ID      presence.UserID
	Public  presence.PublicID
	Created presence.Millis
	All     presence.Share // how the user shares with everyone
	AllRev  uint64
}

// Users keeps who exists.
type Users interface {
	// Ensure returns the user called public, created now if there was none.
	Ensure(ctx context.Context, public presence.PublicID, now presence.Millis) (u User, created bool, err error)
	// User returns the user called public, or ErrNotFound.
	User(ctx context.Context, public presence.PublicID) (User, error)
	// UserByID returns the user, or ErrNotFound.
	UserByID(ctx context.Context, id presence.UserID) (User, error)
	// SetAll sets how the user shares with everyone, and returns the user after it.
	SetAll(ctx context.Context, id presence.UserID, mode presence.Mode, until presence.Millis) (User, error)
}

// Erased is what ended with a user.
type Erased struct {
	Friends []presence.UserID // who were friends, in order
	Rev     uint64            // of the end of these friendships: no later one follows
}

// Erasures removes users, in two parts: who they are at once, and what they left
// behind in as much time as it takes.
type Erasures interface {
	// Erase removes the user with all friendships, requests and blocks in one
	// transaction. History is not seen from then on, and the store begins to remove
	// it. Erasing again gives ErrNotFound.
	Erase(ctx context.Context, id presence.UserID) (Erased, error)
	// EraseHistory returns when nothing is left of the history of a user who does
	// not exist, and at once if there is none. When it gives an error the store
	// goes on by itself, also after a restart.
	EraseHistory(ctx context.Context, id presence.UserID) error
	// Erasing returns who was called public and has history left to be removed,
	// the one erased last, or ErrNotFound.
	Erasing(ctx context.Context, public presence.PublicID) (presence.UserID, error)
}

// Op is something that user a does about user b.
type Op uint8

// The operations on a pair.
const (
	Request  Op = iota // ask b; becomes friends at once if b asked a before
	Accept             // say yes to b's request; ErrNotFound without one
	Decline            // say no to b's request; ErrNotFound without one
	Remove             // end the friendship, or withdraw a's own request
	Block              // end everything, and do not exist for b
	Unblock            // b may ask again; no friendship comes back
	Befriend           // by the operator: friends at once, blocks and requests gone
)

// Outcome says what an operation changed.
type Outcome struct {
	Became    bool // friends now, and were not before
	Ended     bool // friends before, and are not now
	Requested bool // a request waits that did not before
	// A and B are the friendship as each of them has it after the operation;
	// Rev is set also when it ended.
	A, B presence.Friendship
}

// Friendships keeps who is whose friend.
type Friendships interface {
	// Do carries out op by a on b in one transaction. Doing again what holds
	// already is no error and gives an empty Outcome. Errors: ErrNotFound (no
	// such user, b blocks a, or nothing to accept), ErrSelf, ErrTooMany.
	Do(ctx context.Context, op Op, a, b presence.UserID) (Outcome, error)
	// Friends returns the user and all friendships, in order of Friend.
	Friends(ctx context.Context, id presence.UserID) (User, []presence.Friendship, error)
	// Friend returns one friendship as id has it. With ErrNotFound the Friendship
	// has Friend, and a Rev that is not below any that the two had until then.
	Friend(ctx context.Context, id, friend presence.UserID) (presence.Friendship, error)
	// SetShare sets how id shares with friend, or gives ErrNotFound.
	SetShare(ctx context.Context, id, friend presence.UserID, mode presence.Mode, until presence.Millis) (presence.Friendship, error)
	// Requests returns who asked to be id's friend and has had no answer: the
	// newest, at most limit, in the order in which they asked.
	Requests(ctx context.Context, id presence.UserID, limit int) ([]presence.PublicID, error)
}

// HistoryQuery asks for fixes of one user in order of (TS, device, seq, stamp).
type HistoryQuery struct {
	User   presence.UserID
	From   presence.Millis // inclusive; 0 = from the first
	To     presence.Millis // exclusive; 0 = to the last
	Limit  int             // 1 to 10 000
	Cursor string          // of the page before, with the same From and To
}

// HistoryRow is one fix in history.
type HistoryRow struct {
	Device presence.DeviceID
	Fix    presence.Fix
}

// HistoryPage is the answer to a HistoryQuery.
type HistoryPage struct {
	Rows []HistoryRow
	Next string // the cursor of the next page; "" = this was the last
}

// History keeps every fix.
type History interface {
	// Append makes all batches durable, in one commit. Rows that are there
	// already are skipped; rows of users who do not exist (any more) too.
	Append(ctx context.Context, batches []*presence.Batch) error
	// Query returns a page. ErrCursor if the cursor is not one of its own.
	Query(ctx context.Context, q HistoryQuery) (HistoryPage, error)
	// Prune removes up to limit rows older than before; how many it removed.
	Prune(ctx context.Context, before presence.Millis, limit int) (int, error)
}

// Counters keeps numbers that only rise.
type Counters interface {
	// Raise makes the counter at least n, and returns what it is then; durable
	// when it returns. A counter that was never raised is 0. Numbers go up to
	// math.MaxInt64.
	Raise(ctx context.Context, counter Counter, n uint64) (uint64, error)
}

// Counter names a number that a store keeps.
type Counter string

// Sessions is a bound of all session numbers that were given out.
const Sessions Counter = "sessions"

// Store is all of it.
type Store interface {
	Users
	Erasures
	Friendships
	History
	Counters
	// Ping fails with ErrUnavailable while the database does not answer.
	Ping(ctx context.Context) error
	Close() error
}
