package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kith-nearby/kith/cmd/node/sim"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

const devTTL = 24 * time.Hour

// devNames are the people whom one may be. They are friends of each other, and
// of simulated people near them; nobody moves them but who is them.
var devNames = []string{"alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "peggy", "victor"}

// Numbers of a population for trying: enough to see, on a laptop.
const (
	devFriends  = 12 // of one simulated person
	devNear     = 30 // simulated friends of one whom one may be
	devScatter  = 2500
	devInterval = time.Second
)

// persona is one whom one may be, as the map page reads it.
type persona struct {
	User  string  `json:"user"`
	Name  string  `json:"name"`
	Token string  `json:"token"`
	Lat   float64 `json:"lat"` // degrees; where to begin
	Lng   float64 `json:"lng"`
}

// devTown is everybody in a kith dev.
type devTown struct {
	city     sim.City
	people   *sim.Population
	personas []persona
	pairs    []store.Pair
}

// newDevTown makes the people of one city.
func newDevTown(city sim.City, people int, seed uint64) (*devTown, error) {
	p, err := sim.Make{
		Seed: seed, Users: people, Friends: devFriends, SameCity: 1, Town: &city, Scatter: devScatter, Prefix: "-",
	}.Population()
	if err != nil {
		return nil, err
	}
	t := &devTown{city: city, people: p}
	random := rand.New(rand.NewPCG(seed, math.MaxUint64))
	for i, user := range devNames {
		t.personas = append(t.personas, persona{
			User: user, Name: strings.ToUpper(user[:1]) + user[1:],
			Lat: around(city.Lat, i, 7, 0.0019), Lng: around(city.Lng, i, 5, 0.0082),
		})
		for _, other := range devNames[:i] {
			t.befriend(other, user)
		}
	}
	for _, user := range devNames {
		for _, i := range random.Perm(len(p.People))[:min(devNear, len(p.People))] {
			t.befriend(user, p.People[i].Name)
		}
	}
	return t, p.Each(func(a, b string) error {
		t.befriend(a, b)
		return nil
	})
}

// around is a degree near the middle for the i-th person: the first is there,
// the second a step beside, the others spread by a stride.
func around(middle float64, i, stride int, step float64) float64 {
	where := float64(i)
	if i > 1 {
		where = float64(i*stride%11 - 5)
	}
	return math.Round((middle+where*step)*1e4) / 1e4
}

func (t *devTown) befriend(a, b string) {
	t.pairs = append(t.pairs, store.Pair{A: presence.PublicID(a), B: presence.PublicID(b)})
}

// movesIn makes the users, friendships and tokens of a town on a node where
// nobody is yet.
func (t *devTown) movesIn(ctx context.Context, n *Node) error {
	all := func(yield func(store.Pair, error) bool) {
		for _, pair := range t.pairs {
			if !yield(pair, nil) {
				return
			}
		}
	}
	if _, err := n.store.ImportFriends(ctx, iter.Seq2[store.Pair, error](all), presence.Millis(n.now().UnixMilli()), func(int) {}); err != nil {
		return fmt.Errorf("make the people: %w", err)
	}
	for i := range t.personas {
		p := &t.personas[i]
		var err error
		if p.Token, err = n.auth.Issue(presence.PublicID(p.User), devTTL, n.now()); err != nil {
			return err
		}
	}
	return nil
}

// json is what the map page reads.
func (t *devTown) json() *[]byte {
	text, err := json.Marshal(t.personas)
	if err != nil {
		panic(err) // strings and finite numbers
	}
	return &text
}

// live lets the simulated people live on a node until ctx ends.
func (t *devTown) live(ctx context.Context, n *Node, seed uint64) error {
	cfg := sim.Default()
	cfg.URL, cfg.People, cfg.Seed = n.SocketURL(), t.people, seed
	cfg.Token = func(user string) (string, error) { return n.auth.Issue(presence.PublicID(user), devTTL, n.now()) }
	cfg.Interval, cfg.Joins, cfg.Dropouts, cfg.Judge = devInterval, 200, 1, false
	var err error
	if cfg.Mix, err = sim.ParseMix("still=20,walk=40,drive=35,train=5"); err != nil {
		return err
	}
	s, err := sim.New(cfg)
	if err != nil {
		return err
	}
	r := s.Run(ctx)
	return errors.Join(r.Lost...)
}
