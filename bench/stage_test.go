package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/actors/host"
	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/presence"
)

// stage is a host on which everybody of a town is online, each with one
// connection of the same number.
type stage struct {
	town    *town
	host    *host.Host
	metrics *prometheus.Registry
	devices []presence.DeviceID
	step    []int // of each user's walk
	sent    int64 // fixes
	told    int64 // friends of those who sent them
}

// newStage starts a host for t. Nobody is online yet.
func newStage(t *town, clients host.Clients, recorder host.Recorder) (*stage, error) {
	s := &stage{town: t, metrics: prometheus.NewRegistry(), devices: make([]presence.DeviceID, len(t.homes)), step: make([]int, len(t.homes))}
	users := user.Default()
	var session atomic.Uint64
	session.Store(uint64(time.Now().UnixMicro()))
	factories := map[actors.Kind]host.Factory{
		actors.UserKind: func(id uint64, _ time.Time) actors.Core {
			return user.New(&users, presence.UserID(id), presence.Session(session.Add(1)))
		},
	}
	var err error
	s.host, err = host.New(host.Default(), host.Ports{Clients: clients, Recorder: recorder, Loader: t}, factories, s.metrics, nil)
	return s, err
}

// arrive brings everybody online, some at a time so that no queue is full, and
// waits for all first views.
func (s *stage) arrive(ctx context.Context) error {
	const atOnce = 500
	for i := range s.town.homes {
		to := actors.User(presence.UserID(i + 1))
		s.devices[i] = device()
		s.host.Start(to, &actors.Attach{Conn: presence.ConnID(i + 1), Device: s.devices[i]})
		s.fix(i)
		if (i+1)%atOnce == 0 || i+1 == len(s.town.homes) {
			if err := s.host.Quiesce(ctx); err != nil {
				return err
			}
		}
	}
	time.Sleep(2 * user.Default().Settle)
	if err := s.host.Quiesce(ctx); err != nil {
		return err
	}
	if n := s.host.Users(); n != len(s.town.homes) {
		return fmt.Errorf("%d of %d users are online", n, len(s.town.homes))
	}
	return nil
}

// fix lets user i report its next step.
func (s *stage) fix(i int) {
	now := time.Now()
	s.step[i]++
	s.sent++
	s.told += int64(len(s.town.friends[i]))
	id := presence.UserID(i + 1)
	s.host.Send(actors.User(id), report(id, presence.ConnID(i+1), s.devices[i], newFix(s.town.at(i, s.step[i]), uint64(s.step[i]), now), now))
}

// counter reads the sum of a counter's values whose label has the given value.
func (s *stage) counter(name, value string) (sum float64) {
	families, err := s.metrics.Gather()
	if err != nil {
		return -1
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetValue() == value {
					sum += m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}

func (s *stage) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s.host.Close(ctx)
}

// sink is clients who count what they are pushed and touch it: of a friend's
// fix, 64 bytes go into a ring of 8, as they would into a socket's buffer.
type sink struct {
	rings  []ring
	counts [16]struct {
		pushes, entries, welcomes, far atomic.Int64

		_ [96]byte // a cache line of their own
	}
	recorded atomic.Int64
}

func newSink(users int) *sink { return &sink{rings: make([]ring, users+1)} }

func (s *sink) Welcome(conn presence.ConnID, _ *presence.Welcome) {
	s.counts[conn%16].welcomes.Add(1)
}

func (s *sink) Push(conn presence.ConnID, c *presence.Change) {
	count := &s.counts[conn%16]
	count.pushes.Add(1)
	count.entries.Add(int64(len(c.Near)))
	if len(c.Near) == 1 {
		n := &c.Near[0]
		s.rings[conn].put(uint64(len(n.Position.User)), n.Position.At, int64(n.Position.TS), n.Distance, n.Bearing)
		return
	}
	far := float32(0) // the mover's own new distances, which the peer does not have
	for i := range c.Near {
		far = max(far, c.Near[i].Distance)
	}
	count.far.Store(int64(far))
}

func (s *sink) Notify(presence.ConnID, presence.Notice)   {}
func (s *sink) Close(presence.ConnID, presence.CloseCode) {}
func (s *sink) Record(*presence.Batch)                    { s.recorded.Add(1) }

func (s *sink) sum() (pushes, entries int64) {
	for i := range s.counts {
		pushes += s.counts[i].pushes.Load()
		entries += s.counts[i].entries.Load()
	}
	return pushes, entries
}
