package user

import (
	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

// extra holds what a user needs seldom, or for moments only, so that the others
// pay one pointer for it.
type extra struct {
	settleBy presence.Millis // when the first view goes out at the latest; 0 = not settling
	awaited  []presence.UserID
	syncing  *syncing
	waiting  []waiting // friendships to be read from the store
	retryAt  presence.Millis
	failures uint8 // of the store, in a row
	unread   bool  // all friendships must be read at retryAt
	held     *held
	ends     []shareEnd
	partings []parting
}

// syncing is one reading of all friendships under way.
type syncing struct {
	loaded  *actors.FriendsLoaded // nil until the store has answered
	changed []presence.UserID     // whose friendship changed meanwhile: what was read is outdated
	again   bool                  // a Resync came meanwhile
}

// waiting is one friendship being read, because its other end introduced itself
// or became a friend.
type waiting struct {
	id     presence.UserID
	told   *actors.Told // the newest it said; nil = it said nothing, introduce ourselves
	change *actors.FriendChanged
	share  *actors.ShareChanged
	failed bool // the store could not say; asked again at retryAt
}

// parting is a friend who has signed off: what it said before may still be under
// way, and must not bring it back.
type parting struct {
	id      presence.UserID
	version presence.Version
	until   presence.Millis
}

// held is a fix too far away to be believed at once.
type held struct {
	fix   presence.Fix
	born  presence.Micros
	until presence.Millis
}

// shareEnd is a share with an end, with one friend (or 0, everyone).
type shareEnd struct {
	friend presence.UserID
	share  presence.Share
}

func (s *State) more() *extra {
	if s.extra == nil {
		s.extra = new(extra)
	}
	return s.extra
}

// slim gives the memory of extra back when nothing is in it.
func (s *State) slim() {
	x := s.extra
	if x != nil && x.settleBy == 0 && x.syncing == nil && len(x.waiting) == 0 && x.retryAt == 0 && x.held == nil && len(x.ends) == 0 && len(x.partings) == 0 {
		s.extra = nil
	}
}
