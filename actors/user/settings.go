package user

import (
	"slices"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

// onSetRadius changes how far the user sees. Friends must know, since it changes
// what they owe.
func (t *turn) onSetRadius(m *actors.SetRadius) {
	t.setRadius(m.Radius)
	if t.located && !t.settling {
		t.pushFull(0)
	}
}

func (t *turn) setRadius(metres float32) {
	metres = min(max(metres, MinRadius), t.cfg.MaxRadius)
	if metres == t.radius {
		return
	}
	t.radius = metres
	t.muted = true
	t.lookAgain(false)
	t.muted = false
	for i := range t.friends {
		t.owe(&t.friends[i], asked)
	}
	t.lookAtAll()
}

// onShareChanged changes how the user shares, with everyone or one friend.
func (t *turn) onShareChanged(m *actors.ShareChanged) {
	if m.Friend == 0 {
		if m.Rev > t.allRev {
			t.allRev = m.Rev
			t.setEnd(0, m.Share)
			t.shareWithAll(m.Share.At(t.now))
		}
		return
	}
	t.changedMeanwhile(m.Friend)
	if w := t.waitingFor(m.Friend); w != nil && (w.share == nil || m.Rev > w.share.Rev) {
		w.share = m
	}
	f := t.find(m.Friend)
	if f == nil || !f.newer(m.Rev) {
		return
	}
	before := t.modeTo(f)
	t.setShare(f, m.Share, m.Rev)
	t.shared(f, before)
}

func (t *turn) shareWithAll(mode presence.Mode) {
	before := make([]presence.Mode, len(t.friends))
	for i := range t.friends {
		before[i] = t.modeTo(&t.friends[i])
	}
	t.all = mode
	for i := range t.friends {
		t.shared(&t.friends[i], before[i])
	}
}

// shared does what a change of our share with f brings.
func (t *turn) shared(f *friend, before presence.Mode) {
	after := t.modeTo(f)
	if after == before {
		return
	}
	t.lookAtAll()
	why := asked
	if before == presence.None {
		why |= asking // they may have stopped telling us
	}
	t.owe(f, why)
	t.look(f, false)
}

// setShare notes how we share with f.
func (t *turn) setShare(f *friend, share presence.Share, rev uint64) {
	f.setRev(rev)
	f.setMode(share.At(t.now))
	t.setEnd(f.id(), share)
}

// setEnd notes when a share ends, instead of what was noted before.
func (t *turn) setEnd(id presence.UserID, share presence.Share) {
	t.endShare(id)
	if share.Until > t.now {
		x := t.more()
		x.ends = append(x.ends, shareEnd{friend: id, share: share})
		t.wakeBy(share.Until)
	}
}

// endShare forgets the end of a share.
func (t *turn) endShare(id presence.UserID) {
	if x := t.extra; x != nil {
		x.ends = slices.DeleteFunc(x.ends, func(e shareEnd) bool { return e.friend == id })
	}
}

// endShares does what the shares that end now bring (U12).
func (t *turn) endShares() {
	if t.extra == nil {
		return
	}
	for _, end := range slices.Clone(t.extra.ends) {
		if t.now < end.share.Until {
			continue
		}
		t.endShare(end.friend)
		if end.friend == 0 {
			t.shareWithAll(end.share.Then)
		} else if f := t.find(end.friend); f != nil {
			before := t.modeTo(f)
			f.setMode(end.share.Then)
			t.shared(f, before)
		}
	}
	t.slim()
}

// onFriendChanged adds or drops a friend.
func (t *turn) onFriendChanged(m *actors.FriendChanged) {
	id := m.Friendship.Friend
	t.changedMeanwhile(id)
	if w := t.waitingFor(id); w != nil && (w.change == nil || m.Friendship.Rev > w.change.Friendship.Rev) {
		w.change = m
	}
	f := t.find(id)
	switch {
	case f == nil && m.Friends && (t.located || t.waitingFor(id) != nil):
		if w := t.await(id); w != nil && w.change == nil {
			w.change = m
		}
	case f == nil || !f.newer(m.Friendship.Rev):
	case !m.Friends:
		t.drop(f, m.Reason)
	default:
		before := t.modeTo(f)
		t.setShare(f, m.Friendship.Mine, m.Friendship.Rev)
		t.shared(f, before)
	}
}

// onNoticed passes a notice on to every connection.
func (t *turn) onNoticed(m *actors.Noticed) {
	for i := range t.devices {
		if conn := t.devices[i].conn; conn != 0 {
			t.out.Notify(conn, m.Notice)
		}
	}
}
