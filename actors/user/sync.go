package user

import (
	"cmp"
	"slices"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

// MaxWaiting bounds the friendships that a user has being read at a time. One
// more introduction is dropped; the next Resync of either end brings it back.
const MaxWaiting = 512

// onResync repairs whatever may have been lost.
func (t *turn) onResync() {
	if t.located {
		t.sync()
	}
}

// sync reads all friendships, finds out who is online, and introduces us.
func (t *turn) sync() {
	x := t.more()
	if x.syncing != nil {
		x.syncing.again = true
		return
	}
	x.syncing = &syncing{}
	t.out.LoadFriends()
}

// onFriendsLoaded takes in all friendships, and asks who is online.
func (t *turn) onFriendsLoaded(m *actors.FriendsLoaded) {
	x := t.extra
	if x == nil || x.syncing == nil || x.syncing.loaded != nil {
		return
	}
	if m.Err != nil {
		t.syncFailed()
		return
	}
	if m.Gone {
		t.vanish()
		return
	}
	x.failures = 0
	x.syncing.loaded = m
	t.setName(m.Self)
	if m.AllRev >= t.allRev {
		t.allRev = m.AllRev
		t.setEnd(0, m.All)
		t.all = m.All.At(t.now)
	}
	ids := make([]presence.UserID, len(m.Friends))
	for i := range m.Friends {
		ids[i] = m.Friends[i].Friend
	}
	t.out.Locate(ids)
}

// onLocated makes the table of friends what the store and the directory say,
// and introduces us to everybody in it.
func (t *turn) onLocated(m *actors.Located) {
	x := t.extra
	if x == nil || x.syncing == nil || x.syncing.loaded == nil {
		return
	}
	if m.Err != nil {
		t.syncFailed()
		return
	}
	sync := x.syncing
	x.syncing = nil
	online := slices.Clone(m.Online)
	slices.Sort(online)
	slices.Sort(sync.changed)
	t.admit(sync, online)
	t.dismiss(sync, online)
	t.ready = true
	if t.settling {
		x.awaited = x.awaited[:0]
	}
	for i := range t.friends {
		f := &t.friends[i]
		if t.owe(f, asked|asking) && t.settling {
			x.awaited = append(x.awaited, f.id())
		}
	}
	t.lookAtAll()
	t.lookAgain(false)
	if sync.again {
		t.sync()
	}
	t.settle()
	t.slim()
}

// admit adds the friends who are online, with how we share with them.
func (t *turn) admit(sync *syncing, online []presence.UserID) {
	if len(t.friends) == 0 {
		t.friends = make([]friend, 0, min(len(online), len(sync.loaded.Friends)))
	}
	for i := range sync.loaded.Friends {
		row := &sync.loaded.Friends[i]
		if !contains(online, row.Friend) || contains(sync.changed, row.Friend) {
			continue
		}
		f, added := t.add(row.Friend)
		if added || f.newer(row.Rev) {
			t.setShare(f, row.Mine, row.Rev)
		}
	}
}

// dismiss drops everybody who is no friend any more, or not online.
func (t *turn) dismiss(sync *syncing, online []presence.UserID) {
	rows := sync.loaded.Friends
	for i := len(t.friends) - 1; i >= 0; i-- {
		f := &t.friends[i]
		if contains(sync.changed, f.id()) {
			continue
		}
		_, isFriend := slices.BinarySearchFunc(rows, f.id(), func(row presence.Friendship, id presence.UserID) int {
			return cmp.Compare(row.Friend, id)
		})
		switch {
		case !isFriend:
			t.drop(f, presence.Unfriended)
		case !contains(online, f.id()):
			t.drop(f, presence.Left)
		}
	}
}

func contains(sorted []presence.UserID, id presence.UserID) bool {
	_, found := slices.BinarySearch(sorted, id)
	return found
}

// changedMeanwhile notes that what a sync under way may have read of id is
// outdated: it leaves id as it is, and all is read once more.
func (t *turn) changedMeanwhile(id presence.UserID) {
	if x := t.extra; x != nil && x.syncing != nil {
		x.syncing.changed = append(x.syncing.changed, id)
		x.syncing.again = true
	}
}

func (t *turn) syncFailed() {
	t.extra.syncing = nil
	t.extra.unread = true
	t.retryLater()
}

// retryLater asks the store again after a pause that doubles with each failure.
func (t *turn) retryLater() {
	x := t.more()
	if x.retryAt == 0 {
		x.retryAt = t.now + millis(t.cfg.Retry)<<min(x.failures, 5)
		x.failures++
	}
	t.wakeBy(x.retryAt)
}

func (t *turn) retryStore() {
	x := t.extra
	if x == nil || x.retryAt == 0 || t.now < x.retryAt {
		return
	}
	x.retryAt = 0
	if x.unread {
		x.unread = false
		t.sync()
	}
	for i := range x.waiting {
		if x.waiting[i].failed {
			x.waiting[i].failed = false
			t.out.LoadFriend(x.waiting[i].id)
		}
	}
}

// meet handles somebody who says something and is not in the table: a friend who
// has just come online, or nobody. The store knows.
func (t *turn) meet(m *actors.Told) {
	if t.parted(m) {
		t.out.Count(actors.ToldLate, 1)
		return
	}
	if m.Kind == actors.SignedOff {
		t.part(m)
		if w := t.waitingFor(m.From); w != nil && (w.told == nil || w.told.Version < m.Version) {
			w.told = m
		}
		return
	}
	w := t.await(m.From)
	if w == nil {
		return
	}
	if w.told == nil || w.told.Version < m.Version {
		w.told = m
	}
}

// await has the friendship with id read, and returns where to keep what comes
// meanwhile; nil if too many are being read.
func (t *turn) await(id presence.UserID) *waiting {
	if w := t.waitingFor(id); w != nil {
		return w
	}
	x := t.more()
	if len(x.waiting) >= MaxWaiting {
		t.out.Count(actors.PendingFull, 1)
		return nil
	}
	x.waiting = append(x.waiting, waiting{id: id})
	t.out.LoadFriend(id)
	return &x.waiting[len(x.waiting)-1]
}

func (t *turn) waitingFor(id presence.UserID) *waiting {
	if t.extra == nil {
		return nil
	}
	for i := range t.extra.waiting {
		if t.extra.waiting[i].id == id {
			return &t.extra.waiting[i]
		}
	}
	return nil
}

// onFriendLoaded ends the wait for one friendship.
func (t *turn) onFriendLoaded(m *actors.FriendLoaded) {
	id := m.Friendship.Friend
	w := t.waitingFor(id)
	if w == nil {
		return
	}
	if m.Err != nil {
		w.failed = true
		t.retryLater()
		return
	}
	t.extra.failures = 0
	done := *w
	t.extra.waiting = slices.DeleteFunc(t.extra.waiting, func(w waiting) bool { return w.id == id })
	row, friends := m.Friendship, m.Friends
	if c := done.change; c != nil && c.Friendship.Rev > row.Rev {
		row, friends = c.Friendship, c.Friends
	}
	if sh := done.share; sh != nil && sh.Rev > row.Rev {
		row.Mine, row.Rev = sh.Share, sh.Rev
	}
	t.welcome(row, friends, done.told)
	t.slim()
}

// welcome adds a friend whose friendship the store has confirmed.
func (t *turn) welcome(row presence.Friendship, friends bool, told *actors.Told) {
	if !friends {
		t.out.Count(actors.ToldUnknown, 1)
		return
	}
	if told != nil && told.Kind == actors.SignedOff {
		return
	}
	t.changedMeanwhile(row.Friend)
	if told == nil { // became a friend; it may not be online, so it gets no entry yet
		t.introduce(row)
		return
	}
	f, added := t.add(row.Friend)
	if added || f.newer(row.Rev) {
		t.setShare(f, row.Mine, row.Rev)
	}
	t.hear(f, told)
	if added && told.Kind != actors.AtPosition && !told.Answer {
		// It answered what we said before we had an entry to remember that in,
		// and both of us may have changed our minds since.
		t.owe(f, asked|asking)
	}
}

// introduce says where we are to a friend who may be online. If it is, it
// answers, and is added then.
func (t *turn) introduce(row presence.Friendship) {
	if !t.ready {
		return // the sync under way, or the one after it, will
	}
	stranger := newFriend(row.Friend)
	stranger.setMode(row.Mine.At(t.now))
	switch mode := t.modeTo(&stranger); {
	case mode == presence.None:
		t.send(&stranger, &actors.Told{Kind: actors.NotShared}, asking)
	case !t.located:
		t.send(&stranger, &actors.Told{Kind: actors.NoPosition}, asking)
	default:
		t.sendPosition(&stranger, mode, false, asking)
	}
}
