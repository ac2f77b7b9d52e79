package actors

import (
	"fmt"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// Message is anything that an actor can be sent. Commands are imperative,
// facts past tense. Every message keeps its contents out of logs.
//
//	message        from                      to    delivery
//	Attach         gateway                   user  once; starts the actor
//	Detach         gateway                   user  once
//	Report         gateway (socket or HTTP)  user  once per batch; starts the actor; history is idempotent by (device, seq, stamp)
//	Rest           gateway                   user  at most once, repeated by the client
//	SetRadius      gateway                   user  once
//	ShareChanged   account service           user  at most once, ordered by Rev
//	FriendChanged  account service           user  at most once, ordered by Rev
//	Erased         account service           user  at most once
//	Noticed        account service           user  at most once
//	Told           user                      user  at most once, ordered by Version; repaired by Resync
//	FriendsLoaded  store                     user  answer to LoadFriends
//	FriendLoaded   store                     user  answer to LoadFriend
//	Located        directory                 user  answer to Locate
//	Tick           the host's wheel          any   once per Timer
//	Resync         links, cache, cluster     user  idempotent
//	Inspect        gateway, admin            any   once, answered by Reply
type Message interface {
	// IgnoreDeadLetterLogging keeps the message out of protoactor's dead letter
	// log, which would print positions.
	IgnoreDeadLetterLogging()
}

type silent struct{}

func (silent) IgnoreDeadLetterLogging() {}

// Ask names a question from outside, for the answer to find its way. 0 = none.
type Ask uint64

// Attach adds a client connection to a user. An older connection of the same
// device is closed as replaced. Answered by a Welcome effect, then, once the
// user has a position, the full view.
type Attach struct {
	silent
	Conn   presence.ConnID
	Device presence.DeviceID
	Radius float32 // metres; 0 = leave it as it is
}

// Detach takes a client connection from a user.
type Detach struct {
	silent
	Conn presence.ConnID
}

// Report brings fixes of one device. The batch goes to history whole; only its
// newest fix may touch the live state.
type Report struct {
	silent
	Batch *presence.Batch
}

// Rest is a Still: the user is alive and has not moved.
type Rest struct {
	silent
	Device presence.DeviceID
	Conn   presence.ConnID // 0 = over HTTP
}

// SetRadius changes how far the user sees, in metres. The full view follows.
type SetRadius struct {
	silent
	Radius float32
}

// ShareChanged says how the user now shares, with one friend or (Friend 0) with
// everyone.
type ShareChanged struct {
	silent
	Friend presence.UserID
	Share  presence.Share
	Rev    uint64
}

// FriendChanged says that a friendship came or went.
type FriendChanged struct {
	silent
	Friendship presence.Friendship
	Friends    bool            // false: no longer friends
	Reason     presence.Reason // what the view says if not
}

// Erased says that the user no longer exists: every connection is closed and
// every friend sees them leave.
type Erased struct {
	silent
	Ask Ask // answered by true; Stop follows
}

// Noticed passes a notice on to the user's clients.
type Noticed struct {
	silent
	Notice presence.Notice
}

// ToldKind says what a Told says.
type ToldKind uint8

// The kinds of Told.
const (
	AtPosition ToldKind = iota // Position says where the sender is
	NoPosition                 // online, but has not said where
	NotShared                  // the sender does not share with the receiver
	SignedOff                  // the sender's session has ended
)

var toldNames = [...]string{AtPosition: "position", NoPosition: "no-position", NotShared: "not-shared", SignedOff: "signed-off"}

func (k ToldKind) String() string { return toldNames[k] }

// Told is all that one user's actor says to another's. One Told serves every
// friend to whom the same is owed.
type Told struct {
	silent
	From     presence.UserID
	Version  presence.Version
	Kind     ToldKind
	Follows  bool               // every further fix will be told: the sender thinks us in range
	Answer   bool               // the sender wants to be told in return
	Radius   float32            // the sender's exit radius, metres
	Heard    presence.Millis    // when the sender last reported, by its server's clock
	At       geo.Point          // AtPosition: what decides who is near, as precise as shared
	Position *presence.Position // AtPosition: what to show; an inaccurate fix moves it and not At
}

func (t *Told) String() string {
	return fmt.Sprintf("told from=%d v=%d %v follows=%t answer=%t", t.From, t.Version, t.Kind, t.Follows, t.Answer)
}

// FriendsLoaded is the answer to LoadFriends.
type FriendsLoaded struct {
	silent
	Gone    bool // the user does not exist (any more); nothing else is set
	Self    presence.PublicID
	All     presence.Share // with everyone
	AllRev  uint64
	Friends []presence.Friendship
	Err     error // the store could not be read; try again later
}

// FriendLoaded is the answer to LoadFriend.
type FriendLoaded struct {
	silent
	// Friendship is as stored; of those who are no friends Friend, and the latest
	// Rev that the store had given to anything when it was read.
	Friendship presence.Friendship
	Friends    bool
	Err        error
}

// Located is the answer to Locate: those of the asked-for who are online.
type Located struct {
	silent
	Asked  []presence.UserID
	Online []presence.UserID
	Err    error
}

// Tick is a Timer come due.
type Tick struct{ silent }

// Resync tells a user that something about it may have been lost on the way.
type Resync struct{ silent }

// Inspect asks an actor for a copy of its state.
type Inspect struct {
	silent
	Ask     Ask  // answered by the actor's Snapshot type
	Closely bool // with what is long: a user's devices and friends
}
