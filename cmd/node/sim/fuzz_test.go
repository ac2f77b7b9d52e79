package sim

import (
	"math"
	"testing"
)

// FuzzFlags reads what may stand on a command line.
func FuzzFlags(f *testing.F) {
	for _, seed := range []string{"still=40,walk=35,drive=20,train=5", "walk=1e6", "walk=NaN", "Berlin", "Berlin,DE", "52.5,13.4", "NaN,0", "1e9,0", ","} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := ParseMix(text); err == nil {
			sum := 0.0
			for _, share := range m {
				sum += share
			}
			if !(sum > 0) || math.IsInf(sum, 0) {
				t.Fatalf("%q is %v", text, m)
			}
		}
		if c, err := FindCity(text); err == nil && !(math.Abs(c.Lat) <= 90 && math.Abs(c.Lng) <= 180 && c.People > 0) {
			t.Fatalf("%q is %v", text, c)
		}
	})
}
