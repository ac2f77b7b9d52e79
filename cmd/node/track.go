package main

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/sdk/go/kith"
)

// maxTracks bounds the clients of one replay, maxPoints the positions.
const (
	maxTracks = 10_000
	maxPoints = 5_000_000
)

// track is what one id of a file did, in time order.
type track struct {
	user   presence.PublicID
	points []point
}

// point is one recorded position; at counts from the first of the file.
type point struct {
	at  time.Duration
	fix kith.Fix
}

// recording is a file of tracks.
type recording struct {
	tracks   []track
	points   int
	outliers int // left out
	length   time.Duration
}

// columns is where each column of the file stands; -1 = there is none.
type columns struct {
	id, t, lat, lng, acc, speed, heading, outlier int
}

var columnNames = []struct {
	names []string
	of    func(*columns) *int
	need  bool
}{
	{[]string{"vehicle", "id", "user"}, func(c *columns) *int { return &c.id }, true},
	{[]string{"t_unix"}, func(c *columns) *int { return &c.t }, true},
	{[]string{"lat"}, func(c *columns) *int { return &c.lat }, true},
	{[]string{"lng"}, func(c *columns) *int { return &c.lng }, true},
	{[]string{"accuracy_m"}, func(c *columns) *int { return &c.acc }, false},
	{[]string{"speed_mps"}, func(c *columns) *int { return &c.speed }, false},
	{[]string{"heading_deg", "bearing_deg"}, func(c *columns) *int { return &c.heading }, false},
	{[]string{"outlier"}, func(c *columns) *int { return &c.outlier }, false},
}

func readColumns(header []string) (columns, error) {
	var c columns
	var missing []error
	for _, col := range columnNames {
		at := slices.IndexFunc(header, func(h string) bool {
			return slices.Contains(col.names, strings.ToLower(strings.TrimSpace(strings.TrimPrefix(h, "\ufeff"))))
		})
		*col.of(&c) = at
		if at < 0 && col.need {
			missing = append(missing, fmt.Errorf("the header has no column %s", strings.Join(col.names, " or ")))
		}
	}
	return c, errors.Join(missing...)
}

// readRecording reads a CSV file with a header. Its errors name the line and the
// column, never a position.
func readRecording(r io.Reader, outliers bool) (*recording, error) {
	in := csv.NewReader(bufio.NewReaderSize(r, 1<<16))
	in.ReuseRecord = true
	header, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("the first line must be a header, as in: id,t_unix,lat,lng (%w)", err)
	}
	cols, err := readColumns(header)
	if err != nil {
		return nil, err
	}
	rec := &recording{}
	byUser := map[presence.PublicID]*[]rawPoint{}
	for {
		row, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err // names the line
		}
		if err := rec.add(byUser, cols, row, outliers); err != nil {
			line, _ := in.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if rec.points == 0 {
		return nil, errors.New("there is no position in it")
	}
	rec.arrange(byUser)
	return rec, nil
}

// rawPoint has its time as the file has it, in unix seconds.
type rawPoint struct {
	t   float64
	fix kith.Fix
}

func (rec *recording) add(byUser map[presence.PublicID]*[]rawPoint, c columns, row []string, outliers bool) error {
	if c.outlier >= 0 && !outliers && strings.TrimSpace(row[c.outlier]) == "1" {
		rec.outliers++
		return nil
	}
	user, err := presence.ParsePublicID(strings.TrimSpace(row[c.id]))
	if err != nil {
		return err
	}
	p, err := readPoint(c, row)
	if err != nil {
		return err
	}
	list := byUser[user]
	if list == nil {
		if len(byUser) >= maxTracks {
			return fmt.Errorf("this is the %dth id; replay fewer at a time", maxTracks+1)
		}
		list = new([]rawPoint)
		byUser[presence.PublicID(strings.Clone(string(user)))] = list
	}
	if rec.points++; rec.points > maxPoints {
		return fmt.Errorf("the file has more than %d positions; split it", maxPoints)
	}
	*list = append(*list, p)
	return nil
}

func readPoint(c columns, row []string) (rawPoint, error) {
	var (
		p     rawPoint
		fault error
	)
	number := func(at int, name string) *float64 {
		if at < 0 || strings.TrimSpace(row[at]) == "" {
			return nil
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(row[at]), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			fault = cmp.Or(fault, fmt.Errorf("%s is not a number", name))
			return nil
		}
		return &v
	}
	needed := func(at int, name string) float64 {
		v := number(at, name)
		if v == nil {
			fault = cmp.Or(fault, fmt.Errorf("%s is missing", name))
			return 0
		}
		return *v
	}
	p.t = needed(c.t, "t_unix")
	p.fix.Lat, p.fix.Lng = needed(c.lat, "lat"), needed(c.lng, "lng")
	p.fix.Accuracy = number(c.acc, "accuracy_m")
	p.fix.Speed = number(c.speed, "speed_mps")
	if h := number(c.heading, "heading_deg"); h != nil {
		turned := math.Mod(math.Mod(*h, 360)+360, 360)
		p.fix.Heading = &turned
	}
	if fault == nil {
		_, fault = geo.FromDegrees(p.fix.Lat, p.fix.Lng)
	}
	if fault == nil && (p.t < 0 || p.t > 1e11) {
		fault = errors.New("t_unix is not in unix seconds")
	}
	return p, fault
}

// arrange makes tracks in order of id, points in order of time.
func (rec *recording) arrange(byUser map[presence.PublicID]*[]rawPoint) {
	first, last := math.Inf(1), math.Inf(-1)
	for _, list := range byUser {
		for _, p := range *list {
			first, last = min(first, p.t), max(last, p.t)
		}
	}
	since := func(t float64) time.Duration { return time.Duration((t - first) * float64(time.Second)) }
	for user, list := range byUser {
		slices.SortStableFunc(*list, func(a, b rawPoint) int { return cmp.Compare(a.t, b.t) })
		t := track{user: user, points: make([]point, len(*list))}
		for i, p := range *list {
			t.points[i] = point{at: since(p.t), fix: p.fix}
		}
		rec.tracks = append(rec.tracks, t)
	}
	slices.SortFunc(rec.tracks, func(a, b track) int { return cmp.Compare(a.user, b.user) })
	rec.length = since(last)
}
