package actors

import (
	"fmt"
	"strings"
	"time"

	"github.com/kith-nearby/kith/presence"
)

// Core is the whole of an actor's behaviour. now is the server's clock.
type Core interface {
	Step(now time.Time, m Message, out *Outbox)
}

// Kind is a kind of actor.
type Kind uint8

// The kinds. More follow with rooms, cells and the reaper.
const (
	NoKind Kind = iota
	UserKind
)

var kindNames = [...]string{NoKind: "none", UserKind: "user"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind%d", uint8(k))
}

// Address names an actor. It says nothing of where the actor lives.
type Address struct {
	Kind Kind
	ID   uint64
}

// User is the address of a user's actor.
func User(id presence.UserID) Address { return Address{Kind: UserKind, ID: uint64(id)} }

func (a Address) String() string { return fmt.Sprintf("%s:%d", a.Kind, a.ID) }

// EffectKind says what an Effect is.
type EffectKind uint8

// The effects of a Core, each with the fields of Effect that it uses.
const (
	// Send (To, Message): deliver to an actor; dropped and counted if there is
	// none. Never starts one.
	Send EffectKind = iota
	// Welcome (Conn, Welcome): a connection is attached; precedes all else on it.
	Welcome
	// Push (Conn, Change): to one client connection, conflated there. The Change is
	// valid only until the effects of this Step have been applied.
	Push
	// Notify (Conn, Notice): to one client connection, in order, not conflated.
	Notify
	// Close (Conn, Code): end one client connection.
	Close
	// Record (Batch): append to history; acknowledged to Batch.Conn once durable.
	Record
	// Timer (At): wake the Core with a Tick at that time.
	Timer
	// LoadFriends: read all friendships of this user; answered by FriendsLoaded.
	LoadFriends
	// LoadFriend (User): read one friendship; answered by FriendLoaded.
	LoadFriend
	// Locate (Users): which of these are online; answered by Located.
	Locate
	// Reply (Ask, Answer): answer a question that came from outside.
	Reply
	// Stop: this Core is done. Always the last effect.
	Stop
)

var effectNames = [...]string{
	Send: "send", Welcome: "welcome", Push: "push", Notify: "notify", Close: "close", Record: "record", Timer: "timer",
	LoadFriends: "load-friends", LoadFriend: "load-friend", Locate: "locate", Reply: "reply", Stop: "stop",
}

func (k EffectKind) String() string { return effectNames[k] }

// Effect is one thing that a Core wants done. Which fields count is said at the
// EffectKind.
type Effect struct {
	Kind    EffectKind
	Code    presence.CloseCode
	Notice  presence.Notice
	To      Address
	Conn    presence.ConnID
	User    presence.UserID
	At      time.Time
	Message Message
	Welcome *presence.Welcome
	Change  *presence.Change
	Batch   *presence.Batch
	Users   []presence.UserID
	Ask     Ask
	Answer  any
}

// Outbox collects the effects of one Step. It is reused by the host: a Core
// never keeps it.
type Outbox struct {
	Effects []Effect
	Counts  [Counters]uint64 // what happened, for metrics
	change  presence.Change
}

// Reset empties the outbox and lets go of what it pointed to. Counts go on.
func (o *Outbox) Reset() {
	clear(o.Effects)
	o.Effects = o.Effects[:0]
	clear(o.change.Near)
	clear(o.change.Gone)
	o.change = presence.Change{Near: o.change.Near[:0], Gone: o.change.Gone[:0]}
}

// Change returns an empty Change to fill and push. There is one a Step: nearly
// every Step pushes one, and it need not be allocated for that.
func (o *Outbox) Change() *presence.Change { return &o.change }

// Count adds n to a counter.
func (o *Outbox) Count(c Counter, n int) { o.Counts[c] += uint64(n) }

// Send appends a message to an actor.
func (o *Outbox) Send(to Address, m Message) {
	o.Effects = append(o.Effects, Effect{Kind: Send, To: to, Message: m})
}

// Welcome appends the answer to an Attach.
func (o *Outbox) Welcome(conn presence.ConnID, w *presence.Welcome) {
	o.Effects = append(o.Effects, Effect{Kind: Welcome, Conn: conn, Welcome: w})
}

// Push appends a change of view for one connection.
func (o *Outbox) Push(conn presence.ConnID, c *presence.Change) {
	o.Effects = append(o.Effects, Effect{Kind: Push, Conn: conn, Change: c})
}

// Notify appends a notice for one connection.
func (o *Outbox) Notify(conn presence.ConnID, n presence.Notice) {
	o.Effects = append(o.Effects, Effect{Kind: Notify, Conn: conn, Notice: n})
}

// Close appends the end of one connection.
func (o *Outbox) Close(conn presence.ConnID, code presence.CloseCode) {
	o.Effects = append(o.Effects, Effect{Kind: Close, Conn: conn, Code: code})
}

// Record appends fixes for history.
func (o *Outbox) Record(b *presence.Batch) {
	o.Effects = append(o.Effects, Effect{Kind: Record, Batch: b})
}

// Timer asks for a Tick at at.
func (o *Outbox) Timer(at time.Time) {
	o.Effects = append(o.Effects, Effect{Kind: Timer, At: at})
}

// LoadFriends asks the store for all friendships.
func (o *Outbox) LoadFriends() { o.Effects = append(o.Effects, Effect{Kind: LoadFriends}) }

// LoadFriend asks the store for one friendship.
func (o *Outbox) LoadFriend(id presence.UserID) {
	o.Effects = append(o.Effects, Effect{Kind: LoadFriend, User: id})
}

// Locate asks which of ids are online.
func (o *Outbox) Locate(ids []presence.UserID) {
	o.Effects = append(o.Effects, Effect{Kind: Locate, Users: ids})
}

// Reply answers a question from outside.
func (o *Outbox) Reply(ask Ask, answer any) {
	o.Effects = append(o.Effects, Effect{Kind: Reply, Ask: ask, Answer: answer})
}

// Stop ends the Core.
func (o *Outbox) Stop() { o.Effects = append(o.Effects, Effect{Kind: Stop}) }

// String lists the effects, one a line, without positions: what golden files hold.
func (o *Outbox) String() string {
	var b strings.Builder
	for i := range o.Effects {
		b.WriteString(o.Effects[i].String())
		b.WriteByte('\n')
	}
	return b.String()
}

// String describes the effect without positions.
func (e *Effect) String() string {
	switch e.Kind {
	case Send:
		return fmt.Sprintf("send %v %v", e.To, e.Message)
	case Welcome:
		return fmt.Sprintf("welcome conn=%d session=%d radius=%.0f exit=%.0f", e.Conn, e.Welcome.Session, e.Welcome.Radius, e.Welcome.ExitRadius)
	case Push:
		return fmt.Sprintf("push conn=%d %v", e.Conn, e.Change)
	case Notify:
		return fmt.Sprintf("notify conn=%d %v %s", e.Conn, e.Notice.Kind, e.Notice.User)
	case Close:
		return fmt.Sprintf("close conn=%d %d", e.Conn, e.Code)
	case Record:
		return fmt.Sprintf("record device=%s fixes=%d last=%d conn=%d", e.Batch.Device, len(e.Batch.Fixes), e.Batch.LastSeq(), e.Batch.Conn)
	case Timer:
		return fmt.Sprintf("timer %s", e.At.UTC().Format("15:04:05.000"))
	case LoadFriend:
		return fmt.Sprintf("load-friend %d", e.User)
	case Locate:
		return fmt.Sprintf("locate %v", e.Users)
	case Reply:
		return fmt.Sprintf("reply %d %T", e.Ask, e.Answer)
	}
	return e.Kind.String()
}
