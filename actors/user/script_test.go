package user_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts answer into testdata")

// The effects of a Core and their order are its contract (A2). Each script has
// messages to one user, id 1, and below each the effects that it must answer.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			got := runScript(t, string(text))
			if *rewrite {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(text), got, "run with -rewrite if the new effects are right")
		})
	}
}

// runScript returns the script with the effects as they are.
func runScript(t *testing.T, text string) string {
	cfg := user.Default()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	core := user.New(&cfg, 1, presence.Session(now.UnixMicro()))
	var answer strings.Builder
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "\t"), line == "" && answer.Len() == 0:
		case line == "", strings.HasPrefix(line, "#"):
			answer.WriteString(line + "\n")
		default:
			answer.WriteString(line + "\n")
			words := strings.Fields(line)
			if after, ok := strings.CutPrefix(words[0], "+"); ok {
				d, err := time.ParseDuration(after)
				require.NoError(t, err, line)
				now, words = now.Add(d), words[1:]
			}
			var out actors.Outbox
			core.Step(now, scriptMessage(t, words, now), &out)
			for i := range out.Effects {
				answer.WriteString("\t" + strings.ReplaceAll(out.Effects[i].String(), "v=1796040000", "v=…") + "\n")
			}
		}
	}
	return strings.TrimRight(answer.String(), "\n") + "\n"
}

// scriptMessage reads "verb key=value…".
func scriptMessage(t *testing.T, words []string, now time.Time) actors.Message {
	args := map[string]string{}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		args[key] = value
	}
	number := func(key string) uint64 {
		if args[key] == "" {
			return 0
		}
		n, err := strconv.ParseUint(args[key], 10, 64)
		require.NoError(t, err, words)
		return n
	}
	ids := func(key string) (list []presence.UserID) {
		for _, s := range strings.FieldsFunc(args[key], func(r rune) bool { return r == ',' }) {
			n, err := strconv.ParseUint(s, 10, 64)
			require.NoError(t, err, words)
			list = append(list, presence.UserID(n))
		}
		return list
	}
	// north is a point that many metres north of the start.
	north := func() geo.Point { return geo.Offset(point(t, 37.5, 127), float64(number("north")), 0) }
	ts := presence.Millis(now.UnixMilli())
	friendship := presence.Friendship{Friend: presence.UserID(number("friend")), Rev: number("rev")}
	switch words[0] {
	case "attach":
		return &actors.Attach{Conn: presence.ConnID(number("conn")), Device: presence.DeviceID(args["device"]), Radius: float32(number("radius"))}
	case "detach":
		return &actors.Detach{Conn: presence.ConnID(number("conn"))}
	case "fix":
		fix := presence.Fix{At: north(), Seq: number("seq"), TS: ts, Accuracy: float32(number("acc"))}
		return &actors.Report{Batch: &presence.Batch{User: 1, Device: presence.DeviceID(args["device"]), Conn: presence.ConnID(number("conn")), Fixes: []presence.Fix{fix}}}
	case "still":
		return &actors.Rest{Device: presence.DeviceID(args["device"]), Conn: presence.ConnID(number("conn"))}
	case "loaded":
		m := &actors.FriendsLoaded{Self: "ann"}
		for _, id := range ids("friends") {
			m.Friends = append(m.Friends, presence.Friendship{Friend: id, Rev: 1})
		}
		return m
	case "failed":
		return &actors.FriendsLoaded{Err: fmt.Errorf("the database is away")}
	case "located":
		return &actors.Located{Online: ids("online")}
	case "friend":
		return &actors.FriendLoaded{Friendship: friendship, Friends: args["is"] == "true"}
	case "changed":
		return &actors.FriendChanged{Friendship: friendship, Friends: args["is"] == "true", Reason: presence.Unfriended}
	case "share":
		mode, err := presence.ParseMode(args["mode"])
		require.NoError(t, err)
		return &actors.ShareChanged{Friend: friendship.Friend, Share: presence.Share{Mode: mode}, Rev: friendship.Rev}
	case "told":
		m := &actors.Told{From: presence.UserID(number("from")), Version: presence.Version(number("v")), Radius: 8449, Heard: ts, Answer: args["answer"] == "true", Follows: args["follows"] == "true"}
		switch args["kind"] {
		case "not-shared":
			m.Kind = actors.NotShared
		case "signed-off":
			m.Kind = actors.SignedOff
		default:
			m.At = north()
			m.Position = &presence.Position{User: presence.PublicID(fmt.Sprintf("u%d", m.From)), At: m.At}
		}
		return m
	case "radius":
		return &actors.SetRadius{Radius: float32(number("metres"))}
	case "tick":
		return &actors.Tick{}
	case "resync":
		return &actors.Resync{}
	}
	t.Fatalf("no such message: %q", words[0])
	return nil
}
