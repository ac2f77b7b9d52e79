package sim

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed cities.csv
var citiesCSV string

// City is a place where people live.
type City struct {
	Name, Country string
	People        int
	Lat, Lng      float64 // degrees
}

// Cities lists all cities that Kith knows, the largest first.
var Cities = sync.OnceValue(func() []City {
	rows, err := csv.NewReader(strings.NewReader(citiesCSV)).ReadAll()
	if err != nil {
		panic(err) // it is embedded, and a test reads it
	}
	number := func(s string) float64 {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			panic(err)
		}
		return f
	}
	all := make([]City, 0, len(rows)-1)
	for _, r := range rows[1:] {
		all = append(all, City{Name: r[0], Country: r[1], People: int(number(r[2])), Lat: number(r[3]), Lng: number(r[4])})
	}
	return all
})

// FindCity returns the largest city of a name ("Berlin", or "Berlin,DE" if there
// are several), or the place at "LAT,LNG".
func FindCity(name string) (City, error) {
	before, after, two := strings.Cut(name, ",")
	if two {
		lat, errLat := strconv.ParseFloat(strings.TrimSpace(before), 64)
		lng, errLng := strconv.ParseFloat(strings.TrimSpace(after), 64)
		if errLat == nil && errLng == nil {
			if !(lat >= -85 && lat <= 85 && lng >= -180 && lng <= 180) {
				return City{}, fmt.Errorf("nobody lives at %.20q; write LAT,LNG with a latitude within ±85 and a longitude within ±180", name)
			}
			return City{Name: name, People: 1, Lat: lat, Lng: lng}, nil
		}
	}
	for _, c := range Cities() {
		if strings.EqualFold(c.Name, name) || two && strings.EqualFold(c.Name, before) && strings.EqualFold(c.Country, strings.TrimSpace(after)) {
			return c, nil
		}
	}
	return City{}, fmt.Errorf("there is no city %.40q of 250 000 people or more; write another, or LAT,LNG", name)
}
