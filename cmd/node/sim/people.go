package sim

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Human is one simulated person.
type Human struct {
	Name     string // the public id
	City     int    // index of Population.Cities
	Lat, Lng float64
	Friends  []int32 // indices of Population.People, rising
}

// Population is all people and who is friends with whom.
type Population struct {
	Cities []City
	People []Human
	Pairs  int // friendships
}

// Make says what population to make. The same Make gives the same one.
type Make struct {
	Seed     uint64
	Users    int
	Friends  float64     // of one person, on average
	SameCity float64     // share of them who live in the same city, 0 to 1
	Cities   int         // where people live, drawn by size; with Town 1
	Town     *City       // the one city; nil = Cities of them
	Scatter  float64     // metres; how far from the middle of a city people live (the standard deviation)
	Prefix   string      // of the names; "-" = none, "" = one that differs for each Make
	Graph    [][2]string // who is friends with whom, by name, instead of a graph that is made up
}

// mostUsers and mostFriends bound a population.
const (
	mostUsers   = 100_000
	mostFriends = 5000
)

// Population makes the people.
func (m Make) Population() (*Population, error) {
	switch {
	case m.Users < 2 || m.Users > mostUsers:
		return nil, fmt.Errorf("%d people; use 2 to %d", m.Users, mostUsers)
	case !(m.Friends >= 0 && m.Friends <= mostFriends/4):
		return nil, fmt.Errorf("%v friends on average; use 0 to %d", m.Friends, mostFriends/4)
	case !(m.SameCity >= 0 && m.SameCity <= 1):
		return nil, fmt.Errorf("a share of %v of friends in the same city; use 0 to 1", m.SameCity)
	case m.Town == nil && (m.Cities < 1 || m.Cities > len(Cities())):
		return nil, fmt.Errorf("%d cities; use 1 to %d", m.Cities, len(Cities()))
	case !(m.Scatter > 0 && m.Scatter <= 100_000):
		return nil, fmt.Errorf("homes scattered over %v m; use more than 0, up to 100000", m.Scatter)
	}
	random := rand.New(rand.NewPCG(m.Seed, 1))
	p := &Population{Cities: m.cities(random)}
	if m.Graph != nil {
		return p, m.fromGraph(p, random)
	}
	prefix := m.prefix()
	for i := range m.Users {
		h := Human{Name: prefix + nameOf(i), City: drawCity(p.Cities, random)}
		p.People = append(p.People, h)
	}
	for i := range p.People {
		p.settle(i, m.Scatter, random)
	}
	p.befriend(m, random)
	return p, nil
}

// prefix keeps populations apart that meet on one node: friendships of an
// earlier one would look like faults of this.
func (m Make) prefix() string {
	switch m.Prefix {
	case "":
	case "-":
		return ""
	default:
		return m.Prefix
	}
	h := fnv.New32a()
	town := ""
	if m.Town != nil {
		town = m.Town.Name
	}
	fmt.Fprint(h, m.Seed, m.Users, m.Friends, m.SameCity, m.Cities, m.Scatter, town)
	return "s" + strconv.FormatUint(uint64(h.Sum32()), 36) + "-"
}

// cities draws different cities, large ones more often.
func (m Make) cities(random *rand.Rand) []City {
	if m.Town != nil {
		return []City{*m.Town}
	}
	left := slices.Clone(Cities())
	var drawn []City
	for range m.Cities {
		i := drawCity(left, random)
		drawn = append(drawn, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return drawn
}

func drawCity(cities []City, random *rand.Rand) int {
	total := 0
	for i := range cities {
		total += cities[i].People
	}
	at := random.IntN(total)
	for i := range cities {
		if at -= cities[i].People; at < 0 {
			return i
		}
	}
	panic("the sum is more than its parts")
}

// settle gives one person a home in its city.
func (p *Population) settle(i int, scatter float64, random *rand.Rand) {
	h := &p.People[i]
	c := &p.Cities[h.City]
	h.Lat, h.Lng = offset(c.Lat, c.Lng, scatter*random.NormFloat64(), scatter*random.NormFloat64())
}

// befriend makes up friendships: some people have many friends and some few, and
// most friends live in the same city.
func (p *Population) befriend(m Make, random *rand.Rand) {
	// A person stands in these lists as often as it is sociable.
	var all []int32
	byCity := make([][]int32, len(p.Cities))
	for i := range p.People {
		for range 1 + int(4*math.Exp(0.7*random.NormFloat64())) {
			all = append(all, int32(i))
			byCity[p.People[i].City] = append(byCity[p.People[i].City], int32(i))
		}
	}
	wanted := int(float64(len(p.People))*m.Friends/2 + 0.5)
	for tries := 0; p.Pairs < wanted && tries < 20*wanted; tries++ {
		a := all[random.IntN(len(all))]
		from := all
		if random.Float64() < m.SameCity {
			from = byCity[p.People[a].City]
		}
		p.pair(a, from[random.IntN(len(from))])
	}
}

// pair makes two people friends, unless they are or cannot be.
func (p *Population) pair(a, b int32) {
	if a == b || len(p.People[a].Friends) >= mostFriends || len(p.People[b].Friends) >= mostFriends {
		return
	}
	at, are := slices.BinarySearch(p.People[a].Friends, b)
	if are {
		return
	}
	p.People[a].Friends = slices.Insert(p.People[a].Friends, at, b)
	at, _ = slices.BinarySearch(p.People[b].Friends, a)
	p.People[b].Friends = slices.Insert(p.People[b].Friends, at, a)
	p.Pairs++
}

// ErrNoPair says that a graph has nobody in it.
var ErrNoPair = errors.New("there is no pair in the graph")

// fromGraph makes the first Users people of a graph. Whoever comes later lives
// where a friend does, as often as SameCity says.
func (m Make) fromGraph(p *Population, random *rand.Rand) error {
	if len(m.Graph) == 0 {
		return ErrNoPair
	}
	index := map[string]int32{}
	person := func(name string) (int32, bool) {
		i, known := index[name]
		if !known && len(p.People) < m.Users {
			i, known = int32(len(p.People)), true
			index[name] = i
			p.People = append(p.People, Human{Name: name, City: -1})
		}
		return i, known
	}
	for _, pair := range m.Graph {
		a, okA := person(pair[0])
		b, okB := person(pair[1])
		if okA && okB {
			p.pair(a, b)
		}
	}
	for i := range p.People {
		h := &p.People[i]
		if h.City < 0 {
			p.spread(int32(i), m.SameCity, random)
		}
	}
	for i := range p.People {
		p.settle(i, m.Scatter, random)
	}
	return nil
}

// spread gives a person a city, and then those friends of friends who have none.
func (p *Population) spread(first int32, sameCity float64, random *rand.Rand) {
	p.People[first].City = drawCity(p.Cities, random)
	for queue := []int32{first}; len(queue) > 0; queue = queue[1:] {
		for _, f := range p.People[queue[0]].Friends {
			if p.People[f].City >= 0 {
				continue
			}
			p.People[f].City = p.People[queue[0]].City
			if random.Float64() >= sameCity {
				p.People[f].City = drawCity(p.Cities, random)
			}
			queue = append(queue, f)
		}
	}
}

// Friends is how many friends a person has on average, and the share of
// friendships within one city.
func (p *Population) Friends() (mean, sameCity float64) {
	if p.Pairs == 0 {
		return 0, 0
	}
	same := 0
	for i := range p.People {
		for _, f := range p.People[i].Friends {
			if p.People[f].City == p.People[i].City {
				same++
			}
		}
	}
	return 2 * float64(p.Pairs) / float64(len(p.People)), float64(same) / float64(2*p.Pairs)
}

// Each calls do for each friendship, once.
func (p *Population) Each(do func(a, b string) error) error {
	for i := range p.People {
		for _, f := range p.People[i].Friends {
			if int(f) < i {
				continue
			}
			if err := do(p.People[i].Name, p.People[f].Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameOf is the name of the i-th person: ada, … and then ada2, ….
func nameOf(i int) string {
	name := firstNames[i%len(firstNames)]
	if n := i / len(firstNames); n > 0 {
		name += strconv.Itoa(n + 1)
	}
	return name
}

var firstNames = []string{
	"ada", "adam", "aisha", "akira", "amara", "amir", "ana", "anders", "anika", "anton", "aria", "arjun", "aya", "ben", "bianca", "boris",
	"bruno", "camila", "carlos", "chen", "chloe", "clara", "dana", "daniel", "david", "diego", "dina", "elena", "eli", "ella", "emil", "emma",
	"eva", "farid", "fatima", "felix", "fiona", "freya", "gabriel", "george", "gina", "hana", "hannah", "hassan", "hugo", "ida", "ines", "ivana",
	"jack", "jana", "jamal", "jonas", "julia", "kai", "karim", "kate", "kenji", "lara", "layla", "lea", "leo", "lina", "luca", "lucy",
	"malik", "mara", "marco", "maria", "mateo", "maya", "mei", "mia", "milan", "mila", "nadia", "nico", "noah", "nora", "olga", "omar",
	"oscar", "paula", "pavel", "petra", "priya", "rafael", "rana", "rita", "rosa", "sam", "sara", "sofia", "tariq", "theo", "vera", "yusuf",
}
