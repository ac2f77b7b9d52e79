package sim

import (
	"math"
	"math/rand/v2"

	"github.com/kith-nearby/kith/sdk/go/kith"
)

// Flaws are shares of reports, 0 to 1, that are not as they should be.
type Flaws struct {
	Duplicates float64 // sent twice
	Late       float64 // followed by one that is older
	Coarse     float64 // less accurate than a kilometre
}

// DefaultFlaws is more than a real phone has, so that a short run meets all.
func DefaultFlaws() Flaws { return Flaws{Duplicates: 0.03, Late: 0.03, Coarse: 0.01} }

// coarseFrom is the accuracy in metres beyond which a fix moves nobody in or
// out (PROTOCOL.md).
const coarseFrom = 1000

// phone makes reports of a way.
type phone struct {
	way     *way
	battery float64 // 0 to 1
	drain   float64 // of the battery per second
	flaws   Flaws
	random  *rand.Rand
	lastTS  int64 // unix milliseconds of the last fix that was not late
}

func newPhone(w *way, flaws Flaws, random *rand.Rand) *phone {
	return &phone{
		way: w, flaws: flaws, random: random,
		battery: 0.2 + 0.8*random.Float64(), drain: (0.03 + 0.1*random.Float64()) / 3600,
	}
}

// report is what a phone sends at one time.
type report struct {
	still  bool // no fix: it has not moved
	fix    kith.Fix
	coarse bool
	twice  bool
	late   *kith.Fix // to be sent after fix
}

// next reports at a unix time in milliseconds, after some seconds have passed on
// the way. first asks for a fix that counts.
func (p *phone) next(ts int64, seconds float64, first bool) report {
	p.way.step(seconds)
	p.battery -= p.drain * seconds
	if p.battery < 0.1 {
		p.battery = 1
	}
	if !first && p.way.speed == 0 && p.random.Float64() < 0.6 {
		return report{still: true}
	}
	ts = max(ts, p.lastTS+1)
	h := &habits[p.way.gait]
	r := report{coarse: !first && p.random.Float64() < p.flaws.Coarse, twice: p.random.Float64() < p.flaws.Duplicates}
	accuracy := h.sharpest + (h.fuzziest-h.sharpest)*p.random.Float64()
	if r.coarse {
		accuracy = coarseFrom + 1 + 2000*p.random.Float64()
	}
	r.fix = p.fix(ts, accuracy)
	if !first && p.random.Float64() < p.flaws.Late {
		late := p.fix(p.lastTS-1-int64(p.random.IntN(30_000)), accuracy)
		r.late = &late
	}
	p.lastTS = ts
	return r
}

func (p *phone) fix(ts int64, accuracy float64) kith.Fix {
	lat, lng := offset(p.way.lat, p.way.lng, accuracy/2*p.random.NormFloat64(), accuracy/2*p.random.NormFloat64())
	lat, lng = spotAt(lat, lng).degrees()
	accuracy = math.Round(accuracy*10) / 10
	battery := math.Round(p.battery*100) / 100
	f := kith.Fix{Lat: lat, Lng: lng, TS: ts, Accuracy: &accuracy, Battery: &battery}
	if p.way.speed > 0 {
		speed, heading := math.Round(p.way.speed*10)/10, math.Floor(p.way.heading)
		f.Speed, f.Heading = &speed, &heading
	}
	return f
}
