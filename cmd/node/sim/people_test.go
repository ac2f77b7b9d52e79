package sim

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

func makeOf(users int) Make {
	return Make{Seed: 1, Users: users, Friends: 20, SameCity: 0.7, Cities: 10, Scatter: 3000}
}

func population(t require.TestingT, m Make) *Population {
	p, err := m.Population()
	require.NoError(t, err)
	return p
}

func TestM1_TheSameSeedMakesTheSamePeople(t *testing.T) {
	require.Equal(t, population(t, makeOf(300)), population(t, makeOf(300)))
	other := makeOf(300)
	other.Seed = 2
	require.NotEqual(t, population(t, makeOf(300)).People[0], population(t, other).People[0])
}

func TestPopulation_IsAsAskedFor(t *testing.T) {
	p := population(t, makeOf(2000))
	require.Len(t, p.Cities, 10)
	require.Len(t, p.People, 2000)
	mean, same := p.Friends()
	require.InDelta(t, 20, mean, 0.01)
	require.InDelta(t, 0.7, same, 0.1)
	names, most, pairs := map[string]bool{}, 0, 0
	for i, h := range p.People {
		_, err := presence.ParsePublicID(h.Name)
		require.NoError(t, err)
		require.False(t, names[h.Name])
		names[h.Name] = true
		require.True(t, slices.IsSorted(h.Friends))
		for _, f := range h.Friends {
			require.NotEqual(t, int32(i), f)
			require.Contains(t, p.People[f].Friends, int32(i), "both ways")
		}
		most = max(most, len(h.Friends))
		c := p.Cities[h.City]
		home, middle := spotAt(h.Lat, h.Lng).vector(), spotAt(c.Lat, c.Lng).vector()
		require.Less(t, metres(&home, &middle), 20_000.0)
	}
	require.Greater(t, most, 40, "some have many friends")
	require.NoError(t, p.Each(func(string, string) error {
		pairs++
		return nil
	}))
	require.Equal(t, p.Pairs, pairs)
}

func TestPopulation_PrefixKeepsPopulationsApart(t *testing.T) {
	a, b := makeOf(10), makeOf(11)
	require.NotEqual(t, population(t, a).People[0].Name, population(t, b).People[0].Name)
	a.Prefix = "-"
	require.Equal(t, "ada", population(t, a).People[0].Name)
	a.Prefix = "x."
	require.Equal(t, "x.ada", population(t, a).People[0].Name)
}

func TestPopulation_OfAGraph(t *testing.T) {
	m := makeOf(4)
	m.Graph = [][2]string{{"x", "y"}, {"y", "x"}, {"z", "y"}, {"u", "u"}, {"v", "x"}}
	p := population(t, m)
	require.Equal(t, []string{"x", "y", "z", "u"}, []string{p.People[0].Name, p.People[1].Name, p.People[2].Name, p.People[3].Name}, "v is too many")
	require.Equal(t, 2, p.Pairs)
	require.Equal(t, []int32{0, 2}, p.People[1].Friends)
	m.SameCity = 1
	p = population(t, m)
	require.Equal(t, p.People[0].City, p.People[2].City, "friends of friends")
	m.Graph = [][2]string{}
	_, err := m.Population()
	require.ErrorIs(t, err, ErrNoPair)
}

func TestPopulation_Refuses(t *testing.T) {
	for want, change := range map[string]func(*Make){
		"1 people":         func(m *Make) { m.Users = 1 },
		"friends on aver":  func(m *Make) { m.Friends = -1 },
		"share of 2":       func(m *Make) { m.SameCity = 2 },
		"0 cities":         func(m *Make) { m.Cities = 0 },
		"homes scattered":  func(m *Make) { m.Scatter = math.NaN() },
		"100001 people":    func(m *Make) { m.Users = mostUsers + 1 },
		"1000000 cities":   func(m *Make) { m.Cities = 1_000_000 },
		"share of NaN":     func(m *Make) { m.SameCity = math.NaN() },
		"NaN friends on a": func(m *Make) { m.Friends = math.NaN() },
	} {
		m := makeOf(10)
		change(&m)
		_, err := m.Population()
		require.ErrorContains(t, err, want)
	}
}

func TestCities(t *testing.T) {
	require.Len(t, Cities(), 1712)
	for _, c := range Cities() {
		require.NotEmpty(t, c.Name)
		require.Len(t, c.Country, 2)
		require.GreaterOrEqual(t, c.People, 250_000)
		_, err := geo.FromDegrees(c.Lat, c.Lng)
		require.NoError(t, err)
	}
	for name, country := range map[string]string{"berlin": "DE", "Valencia": "VE", "Valencia,ES": "ES", "Washington, D.C.": "US", "52.5, 13.4": ""} {
		c, err := FindCity(name)
		require.NoError(t, err, name)
		require.Equal(t, country, c.Country, name)
	}
	for _, name := range []string{"", "Nowhere", "91,0", "0,181", "NaN,0", "Berlin,XX"} {
		_, err := FindCity(name)
		require.Error(t, err, name)
	}
}

// The oracle's geometry is its own (M4); here it is compared with the server's.
func TestM4_SphereAgreesWithGeo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lat, lng := rapid.Float64Range(-90, 90).Draw(t, "lat"), rapid.Float64Range(-180, 180).Draw(t, "lng")
		north, east := rapid.Float64Range(-60_000, 60_000).Draw(t, "north"), rapid.Float64Range(-60_000, 60_000).Draw(t, "east")
		lat2, lng2 := offset(lat, lng, north, east)
		a, b := spotAt(lat, lng), spotAt(lat2, lng2)
		ga, gb := geo.Point{Lat: a.lat, Lng: a.lng}, geo.Point{Lat: b.lat, Lng: b.lng}
		require.True(t, ga.Valid() && gb.Valid())
		va, vb := a.vector(), b.vector()
		d := geo.Distance(ga, gb)
		require.InDelta(t, d, metres(&va, &vb), 0.002)
		if limit := rapid.Float64Range(0, 100_000).Draw(t, "limit"); math.Abs(d-limit) > 0.01 {
			require.Equal(t, d > limit, chord2(&va, &vb) > chordOf(limit))
		}
		if d > 10 && math.Abs(lat) < 89.9 {
			turn := math.Abs(math.Mod(geo.Bearing(ga, gb)-bearing(&va, &vb)+540, 360) - 180)
			require.Less(t, turn, 0.01)
		}
	})
}

func TestSpotAt_IsWhatTheServerMakesOfIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lat, lng := rapid.Float64Range(-90, 90).Draw(t, "lat"), rapid.Float64Range(-180, 180).Draw(t, "lng")
		s := spotAt(lat, lng)
		p, err := geo.FromDegrees(s.degrees())
		require.NoError(t, err)
		require.Equal(t, geo.Point{Lat: s.lat, Lng: s.lng}, p)
		p, err = geo.FromDegrees(lat, lng)
		require.NoError(t, err)
		require.InDelta(t, float64(p.Lat), float64(s.lat), 1)
	})
	require.Equal(t, spot{0, -1_800_000_000}, spotAt(0, 180))
	require.Equal(t, spot{0, -1_790_000_000}, spotAt(0, 181))
	require.Equal(t, spot{900_000_000, 0}, spotAt(91, 0))
}
