package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// gait is how somebody gets around.
type gait uint8

const (
	staying gait = iota
	walking
	driving
	riding // a train
	gaits
)

// habits are what a gait looks like, lengths in metres, speeds in m/s, times in
// seconds, accuracy of the phone in metres.
var habits = [gaits]struct {
	name                string
	slowest, fastest    float64
	reach               float64 // how far from home
	pause               float64 // on average, at the end of each way
	sharpest, fuzziest  float64 // accuracy
	straightTo, forever bool    // to the far end of a line and back; never leaves
}{
	staying: {name: "still", sharpest: 8, fuzziest: 25, forever: true},
	walking: {name: "walk", slowest: 0.9, fastest: 1.9, reach: 1500, pause: 90, sharpest: 4, fuzziest: 15},
	driving: {name: "drive", slowest: 7, fastest: 28, reach: 12_000, pause: 120, sharpest: 4, fuzziest: 12},
	riding:  {name: "train", slowest: 30, fastest: 55, reach: 60_000, pause: 150, sharpest: 10, fuzziest: 60, straightTo: true},
}

// Mix is the shares of people who stay, walk, drive and ride, of any sum.
type Mix [gaits]float64

// DefaultMix is an afternoon in a city.
func DefaultMix() Mix { return Mix{staying: 40, walking: 35, driving: 20, riding: 5} }

// ParseMix reads "still=40,walk=35,drive=20,train=5"; what is not named is 0.
func ParseMix(text string) (Mix, error) {
	var m Mix
	sum := 0.0
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		share, err := strconv.ParseFloat(value, 64)
		found := false
		for g := range gaits {
			if habits[g].name == name {
				m[g], found = share, true
			}
		}
		if err != nil || !found || !(share >= 0 && share <= 1e6) {
			return m, fmt.Errorf("%.40q is no share of people; write still=40,walk=35,drive=20,train=5", part)
		}
		sum += share
	}
	if sum == 0 {
		return m, fmt.Errorf("%.40q is nobody; write still=40,walk=35,drive=20,train=5", text)
	}
	return m, nil
}

func (m Mix) draw(random *rand.Rand) gait {
	sum := 0.0
	for _, share := range m {
		sum += share
	}
	at := random.Float64() * sum
	for g, share := range m {
		if at -= share; at < 0 {
			return gait(g)
		}
	}
	return staying
}

// way is where somebody is and goes. It is moved by step alone.
type way struct {
	gait             gait
	homeLat, homeLng float64
	lat, lng         float64 // degrees, true
	north, east      float64 // metres from home
	toNorth, toEast  float64 // where it leads, from home
	speed            float64 // m/s; 0 = at rest
	heading          float64 // degrees clockwise from north, of the last movement
	rest             float64 // seconds until the next way
	line             float64 // direction of a line, radians
	random           *rand.Rand
}

func newWay(g gait, lat, lng float64, random *rand.Rand) *way {
	w := &way{gait: g, homeLat: lat, homeLng: lng, lat: lat, lng: lng, line: random.Float64() * 2 * math.Pi, random: random}
	if !habits[g].forever {
		w.depart()
		w.step(w.random.Float64() * 300) // not everybody starts at home
	}
	return w
}

func (w *way) depart() {
	h := &habits[w.gait]
	w.speed = h.slowest + (h.fastest-h.slowest)*w.random.Float64()
	if h.straightTo {
		if w.north == 0 && w.east == 0 {
			w.toNorth, w.toEast = h.reach*math.Cos(w.line), h.reach*math.Sin(w.line)
		} else {
			w.toNorth, w.toEast = 0, 0
		}
	} else {
		far, at := h.reach*math.Sqrt(w.random.Float64()), w.random.Float64()*2*math.Pi
		w.toNorth, w.toEast = far*math.Cos(at), far*math.Sin(at)
	}
	w.heading = math.Mod(math.Atan2(w.toEast-w.east, w.toNorth-w.north)*180/math.Pi+360, 360)
}

// step lives on for some seconds.
func (w *way) step(seconds float64) {
	if habits[w.gait].forever {
		return
	}
	for seconds > 0 {
		if w.speed == 0 {
			used := min(seconds, w.rest)
			seconds -= used
			if w.rest -= used; w.rest <= 0 {
				w.depart()
			}
			continue
		}
		north, east := w.toNorth-w.north, w.toEast-w.east
		left := math.Hypot(north, east)
		if far := w.speed * seconds; far < left {
			w.north += north / left * far
			w.east += east / left * far
			break
		}
		seconds -= left / w.speed
		w.north, w.east, w.speed = w.toNorth, w.toEast, 0
		w.rest = 5 + w.random.ExpFloat64()*habits[w.gait].pause
	}
	w.lat, w.lng = offset(w.homeLat, w.homeLng, w.north, w.east)
}
