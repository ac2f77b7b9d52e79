package gateway

import (
	"errors"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// The OwnTracks apps in HTTP mode post one JSON object for each event and take
// a list of such objects in return. What is read here is their location
// message: tst in unix seconds, vel in km/h, batt in percent.

// maxTST is the largest tst that is no time in milliseconds by mistake.
const maxTST = 99_999_999_999

// errNoLocation is an OwnTracks message that holds no position.
var errNoLocation = errors.New("no location message")

// trackerFix reads an OwnTracks message. errNoLocation means that there is
// nothing to record; other errors are Problems.
func trackerFix(body []byte, now presence.Millis) (presence.Fix, presence.DeviceID, error) {
	if len(body) == 0 { // what the apps send when a friend is deleted
		return presence.Fix{}, "", errNoLocation
	}
	var message map[string]jsontext.Value
	if err := json.Unmarshal(body, &message); err != nil || message == nil {
		return presence.Fix{}, "", badBody(err)
	}
	if jsonText(message["_type"]) != "location" {
		return presence.Fix{}, "", errNoLocation
	}
	device, err := presence.ParseDeviceID(topicDevice(jsonText(message["topic"])))
	if err != nil {
		return presence.Fix{}, "", badField("topic", "topic: %v", err)
	}
	raw, err := trackerRaw(message, now)
	if err != nil {
		return presence.Fix{}, "", err
	}
	fix, refused := wire.Checker{Now: now, SeqRequired: true}.Fix(&raw)
	if refused != nil {
		if name, ok := trackerNames[refused.Field]; ok {
			refused.Message = strings.Replace(refused.Message, refused.Field, name, 1)
			refused.Field = name
		}
		return presence.Fix{}, "", wireProblem(refused)
	}
	return fix, device, nil
}

// trackerNames are the names that OwnTracks has for members of a fix.
var trackerNames = map[string]string{"lng": "lon", "ts": "tst", "seq": "tst", "speed": "vel", "heading": "cog", "battery": "batt"}

// trackerRaw takes the time as seq too, so that a message sent again is the
// same fix again.
func trackerRaw(message map[string]jsontext.Value, now presence.Millis) (wire.RawFix, error) {
	var raw wire.RawFix
	number := func(name string, field wire.FixField, into *float64, scale float64) {
		v, there, ok := jsonNumber(message[name])
		if !there {
			return
		}
		if !ok {
			raw.Bad |= field
			return
		}
		*into = v * scale
		raw.Has |= field
	}
	number("lat", wire.FixLat, &raw.Lat, 1)
	number("lon", wire.FixLng, &raw.Lng, 1)
	number("tst", wire.FixTS, &raw.TS, 1000)
	number("acc", wire.FixAcc, &raw.Acc, 1)
	number("alt", wire.FixAlt, &raw.Alt, 1)
	number("vel", wire.FixSpeed, &raw.Speed, 1/3.6)
	number("cog", wire.FixHeading, &raw.Heading, 1)
	number("batt", wire.FixBattery, &raw.Battery, 0.01)
	raw.Seq, raw.Has = uint64(now/1000), raw.Has|wire.FixSeq
	if raw.Has&wire.FixTS == 0 {
		return raw, nil
	}
	tst := math.Floor(raw.TS / 1000)
	if !(tst >= float64(wire.MinTime/1000) && tst <= maxTST) {
		return raw, badTime("tst", "tst is the time of the position in unix seconds")
	}
	raw.TS, raw.Seq = tst*1000, uint64(tst)
	return raw, nil
}

// jsonNumber reads a JSON number; null is as good as absent. What no float64 can
// hold becomes infinite, which the checker refuses.
func jsonNumber(v jsontext.Value) (n float64, there, ok bool) {
	if len(v) == 0 || v.Kind() == jsontext.KindNull {
		return 0, false, false
	}
	if v.Kind() != jsontext.KindNumber {
		return 0, true, false
	}
	n, _ = strconv.ParseFloat(string(v), 64)
	return n, true, true
}

// jsonText is what a JSON string says; "" for anything else.
func jsonText(v jsontext.Value) string {
	var s string
	if len(v) == 0 || v.Kind() != jsontext.KindString || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// topicDevice is the device of owntracks/USER/DEVICE.
func topicDevice(topic string) string {
	parts := strings.Split(topic, "/")
	if len(parts) < 3 {
		return ""
	}
	return parts[2]
}

// trackerFriend is a friend's position as an OwnTracks app shows it.
type trackerFriend struct {
	Type  string `json:"_type"`
	TID   string `json:"tid"`
	Topic string `json:"topic"`
	Lat   degree `json:"lat"`
	Lon   degree `json:"lon"`
	TST   int64  `json:"tst"`
	Acc   *int64 `json:"acc,omitempty"`
	Vel   *int64 `json:"vel,omitempty"`
	Cog   *int64 `json:"cog,omitempty"`
	Batt  *int64 `json:"batt,omitempty"`
}

// trackerCard gives a friend's name.
type trackerCard struct {
	Type string `json:"_type"`
	TID  string `json:"tid"`
	Name string `json:"name"`
}

// degree is written without an exponent, which one of the apps cannot read.
type degree float64

func (d degree) MarshalJSON() ([]byte, error) { return []byte(degrees(float64(d))), nil }

// trackerAnswer is the view for an OwnTracks app: a location and a card for each
// friend.
func trackerAnswer(near []presence.Near) []byte {
	near = slices.Clone(near)
	slices.SortFunc(near, func(a, b presence.Near) int {
		return strings.Compare(string(a.Position.User), string(b.Position.User))
	})
	taken := make(map[string]bool, len(near))
	list := make([]any, 0, 2*len(near))
	for _, n := range near {
		f := n.Position
		tid := trackerID(f.User, taken)
		lat, lng := f.At.Degrees()
		list = append(list, trackerFriend{
			Type: "location", TID: tid, Topic: "owntracks/" + string(f.User) + "/kith",
			Lat: degree(lat), Lon: degree(lng), TST: int64(f.TS / 1000),
			Acc: whole(f.Accuracy, 1), Vel: whole(f.Speed, 3.6), Cog: whole(f.Heading, 1), Batt: whole(f.Battery, 100),
		}, trackerCard{Type: "card", TID: tid, Name: string(f.User)})
	}
	return mustJSON(list)
}

func whole(v float32, scale float64) *int64 {
	if !presence.IsSet(v) {
		return nil
	}
	n := int64(math.Round(float64(v) * scale))
	return &n
}

const tidLetters = "0123456789abcdefghijklmnopqrstuvwxyz"

// trackerID is two letters for a friend: the last two of the id, as the apps do
// it, or others made from the id where those are taken. With more friends than
// there are pairs some share one; the topic still tells them apart.
func trackerID(user presence.PublicID, taken map[string]bool) string {
	last := string(user[max(0, len(user)-2):])
	tid := last
	h := fnv.New32a()
	_, _ = h.Write([]byte(user))
	seed := h.Sum32()
	const pairs = uint32(len(tidLetters) * len(tidLetters))
	for i := uint32(0); taken[tid] && i < pairs; i++ {
		n := (seed + i) % pairs
		tid = string([]byte{tidLetters[n/uint32(len(tidLetters))], tidLetters[n%uint32(len(tidLetters))]})
	}
	if taken[tid] {
		return last
	}
	taken[tid] = true
	return tid
}
