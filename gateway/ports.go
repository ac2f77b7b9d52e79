package gateway

import (
	"context"
	"errors"

	"github.com/kith-nearby/kith/presence"
)

// The gateway's ports: what it needs of the rest, implemented in cmd/node.

// Errors that ports return, wrapped or not; each has a code (see codes.go).
var (
	ErrNotFound    = errors.New("not found")
	ErrConflict    = errors.New("conflict")
	ErrTooMany     = errors.New("too many")
	ErrUnavailable = errors.New("unavailable")
	ErrForbidden   = errors.New("forbidden")
	ErrSelf        = errors.New("that is the user itself")
	ErrBadCursor   = errors.New("the cursor is not one that a query gave")
)

// Live is the presence of users on this node. No call of it waits for an actor,
// but each may wait while the node is over its high-water mark: that is how the
// node reads its sockets more slowly.
type Live interface {
	// Attach adds a connection. The answer comes as Hub.Welcome.
	Attach(user presence.UserID, conn presence.ConnID, device presence.DeviceID, radius float32)
	Detach(user presence.UserID, conn presence.ConnID)
	// Report hands over fixes; Hub.Durable follows, or Hub.Lost.
	Report(b *presence.Batch)
	Rest(user presence.UserID, conn presence.ConnID, device presence.DeviceID)
	SetRadius(user presence.UserID, radius float32)
}

// Status is where a user stands.
type Status struct {
	User     presence.PublicID
	State    presence.State
	LastSeen presence.Millis // 0 = not known
	Node     string          // "" = offline
}

// Views answers questions about who is where.
type Views interface {
	// Nearby returns the user's view; empty if the user is not present.
	Nearby(ctx context.Context, user presence.UserID) ([]presence.Near, error)
	// Presence returns the status of each, in the same order. Users who do not
	// exist are offline.
	Presence(ctx context.Context, users []presence.PublicID) ([]Status, error)
}

// FriendOp is what one user does about another.
type FriendOp string

// The operations, as PROTOCOL.md names them.
const (
	OpRequest FriendOp = "request"
	OpAccept  FriendOp = "accept"
	OpDecline FriendOp = "decline"
	OpRemove  FriendOp = "remove"
	OpBlock   FriendOp = "block"
	OpUnblock FriendOp = "unblock"
)

// Accounts is what a user may do about themselves and others.
type Accounts interface {
	// Login returns the inner id of a user with a valid token, creating the user
	// where the configuration says so; ErrNotFound, ErrUnavailable.
	Login(ctx context.Context, user presence.PublicID) (presence.UserID, error)
	Friend(ctx context.Context, user presence.UserID, op FriendOp, other presence.PublicID) error
	// Share sets the mode towards one friend, or towards everyone (friend "").
	Share(ctx context.Context, user presence.UserID, friend presence.PublicID, mode presence.Mode, until presence.Millis) error
	// Requests returns who waits for an answer of this user.
	Requests(ctx context.Context, user presence.UserID) ([]presence.PublicID, error)
	Erase(ctx context.Context, user presence.UserID) error
}

// UserInfo is a user as the operator sees it.
type UserInfo struct {
	User    presence.PublicID
	Created presence.Millis
	Share   presence.Share
}

// FriendInfo is one friendship as the operator sees it.
type FriendInfo struct {
	User  presence.PublicID
	Share presence.Share // how the listed user's friend is shared with by the user asked about
}

// Operator is what an API key may do.
type Operator interface {
	PutUser(ctx context.Context, user presence.PublicID) (created bool, err error)
	GetUser(ctx context.Context, user presence.PublicID) (UserInfo, error)
	EraseUser(ctx context.Context, user presence.PublicID) error
	// SetFriends makes or ends a friendship, both ways.
	SetFriends(ctx context.Context, a, b presence.PublicID, friends bool) error
	Friends(ctx context.Context, user presence.PublicID) ([]FriendInfo, error)
}

// HistoryQuery asks for a page of fixes in time order.
type HistoryQuery struct {
	From, To presence.Millis // To 0 = until now
	Limit    int
	Cursor   string
}

// HistoryRow is one fix in history.
type HistoryRow struct {
	Device presence.DeviceID
	Fix    presence.Fix
}

// Histories reads what was recorded.
type Histories interface {
	// History returns a page and the cursor of the next ("" = no more).
	History(ctx context.Context, user presence.PublicID, q HistoryQuery) ([]HistoryRow, string, error)
}

// Readiness says why the node should get no new clients.
type Readiness interface {
	// NotReady returns "", or "starting", "draining", "fenced" or "store_down".
	NotReady() string
}

// Cluster is what the operator may ask and do about the nodes.
type Cluster interface {
	// Cluster returns what this node knows.
	Cluster(ctx context.Context) (ClusterInfo, error)
	// Drain begins to drain this node and returns at once; force ends the
	// process without waiting for the drain.
	Drain(force bool)
}

// ClusterInfo is the cluster as one node sees it.
type ClusterInfo struct {
	Members   []Member
	Instances []InstanceInfo
	Lease     *LeaseInfo // nil: nobody holds it, or there is no cluster
	Rooms     int        // owned by this node
	Links     []LinkInfo
}

// Member is a node that gossip knows.
type Member struct {
	Instance presence.Instance
	Address  string // of its public port
	State    string // "live", "draining", "suspect", "dead"
	Self     bool
	Users    int // present on it; 0 for others
}

// InstanceInfo is a row of the registry.
type InstanceInfo struct {
	Instance presence.Instance
	State    string // "live", "draining", "reaping", "dead"
	Beat     presence.Millis
}

// LeaseInfo says who may reap.
type LeaseInfo struct {
	Holder presence.Instance
	Until  presence.Millis
}

// LinkInfo is the link to another node.
type LinkInfo struct {
	Peer     presence.Instance
	Up       bool
	InFlight int // batches not yet acknowledged
}

// Inspector tells the operator about users, and never where anybody is.
type Inspector interface {
	// Sample looks at about n users of this node at random, or at all if there
	// are no more.
	Sample(ctx context.Context, n int) (Sample, error)
	// Look tells about one user; ErrNotFound if there is none.
	Look(ctx context.Context, user presence.PublicID) (UserLook, error)
}

// Sample counts users by state.
type Sample struct{ Of, Live, Idle, Stale int }

// UserLook is one user as their actor knows them.
type UserLook struct {
	Session presence.Session // 0 = not present on this node
	State   presence.State
	Heard   presence.Millis // 0 = never
	Radius  float32         // metres
	Devices []DeviceLook
	Friends []FriendLook // who are online: near ones first, at most MostFriendLooks
	Online  int          // all of those
	Offline int          // friends who are not
	Unnamed bool         // the store cannot say who the friends are
}

// DeviceLook is one device of a user.
type DeviceLook struct {
	Device presence.DeviceID
	Conn   presence.ConnID // 0 = not connected
	Last   presence.Millis // time of its newest fix; 0 = none
}

// MostFriendLooks bounds the friends that a UserLook lists.
const MostFriendLooks = 200

// FriendLook is how a friend stands to a user. It says where nobody is.
type FriendLook struct {
	User     presence.PublicID
	Standing string          // "near", "in range", "far", "unknown", "hidden"
	Distance string          // of those who are far: "tens of km" and so on
	Share    presence.Mode   // how the user shares with them
	Heard    presence.Millis // 0 = not known
}
