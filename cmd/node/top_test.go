package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
)

func ms(x float64) *float64 { x /= 1000; return &x }

// busyStats is a snapshot of a node with work to do.
func busyStats() *gateway.StatsBody {
	drops := 7
	s := &gateway.StatsBody{
		At: 1_796_070_000_000, WindowS: 5,
		Node: gateway.NodeStats{Instance: "n1#17", State: "serving", Version: "v1.2.3", UptimeS: 3725.4},
		Live: gateway.LiveStats{
			Connections: 12_345, Users: 12_000, States: gateway.SampledStates{Of: 200, Live: 150, Idle: 40, Stale: 10},
			Fixes: 412.345, Owed: 4021.2, Avoided: 12_000, Ack50: ms(41.234), Ack99: ms(99), Push50: ms(.6), Push99: ms(1500),
		},
		History:  gateway.HistoryStats{LagS: .047, Rows: 31, Committed: 9.55},
		Process:  gateway.ProcessStats{Resident: 1 << 30, Heap: 600 << 20, Goroutines: 12_400, Files: 12_360, MostFiles: 1 << 20, Cores: 1.5, AllCores: 2},
		Queues:   []gateway.QueueStats{{Name: "fixes not on disk", Depth: 31, Bound: 200_000, Drops: &drops}, {Name: "questions to users", Bound: 4096}},
		Closes:   []gateway.Refused{{Kind: "close", Code: "4101", Name: "slow", Sentence: "Nothing was read for too long; connect again.", Total: 3, Rate: .2}},
		Refusals: []gateway.Refused{{Kind: "upgrade", Code: "rate", Sentence: "Too many.", Total: 1200, Rate: 20}},
		Series:   gateway.SeriesStats{EveryS: 5},
	}
	for n := range 180 {
		s.Series.At = append(s.Series.At, presence.Millis(n*5000))
		v := float64(n % 9)
		s.Series.Fixes, s.Series.Owed, s.Series.Avoided = append(s.Series.Fixes, v), append(s.Series.Owed, 8-v), append(s.Series.Avoided, 0)
		s.Series.Push99, s.Series.Ack99 = append(s.Series.Push99, nil), append(s.Series.Ack99, ms(100))
	}
	return s
}

func TestTop_SaysWhatANodeDoes(t *testing.T) {
	text := topText(busyStats(), 0)
	for _, line := range []string{
		"n1#17  serving  up 1h2m5s  kith v1.2.3  ",
		"people       12,345 connections  12,000 users      75 % live, 20 % idle, 5 % stale of 200",
		"fixes        412/s               9.55/s stored     31 wait, the oldest for 47 ms",
		"deliveries   4,021/s owed        12,000/s avoided  75 %",
		"to a friend  0.6 ms half         1.50 s 99 %",
		"to disk      41.2 ms half        99 ms 99 %",
		"memory       1.0 GiB             600 MiB heap       no limit",
		"processor    75 % of 2 cores     12,400 goroutines  12,360 of 1,048,576 files",
		"the last 5m0s",
		"fixes not on disk   31       200,000  7",
		"questions to users  0        4,096    -",
		"slow   4101  0.20  3      Nothing was read for too long; connect again.",
		"upgrade  rate  20.0  1,200  Too many.",
	} {
		require.Contains(t, text, line)
	}
	require.Regexp(t, `fixes/s     .*▁▂▃▄▅▆▇█ ▁▂▃▄▅▆▇█.*  at most 8.00`, text)
	require.Contains(t, text, "at most 0 ms", "nothing was measured")
	empty := topText(&gateway.StatsBody{}, 0)
	require.Contains(t, empty, "none waits")
	require.NotContains(t, empty, "the last")
}

// Whatever the window, no line is wider and the screen no higher; how to leave
// is always said.
func TestTop_FitsTheWindow(t *testing.T) {
	for width := 1; width < 140; width += 3 {
		for height := 1; height < 60; height += 4 {
			var m tea.Model = topScreen{stats: busyStats(), now: time.Now}
			m, _ = m.Update(tea.WindowSizeMsg{Width: width, Height: height})
			lines := strings.Split(m.(topScreen).text(), "\n")
			require.LessOrEqual(t, len(lines), height)
			for _, line := range lines {
				require.LessOrEqual(t, utf8.RuneCountInString(line), width)
			}
			if width > 20 {
				require.Contains(t, lines[len(lines)-1], "q ends")
			}
		}
	}
	require.Contains(t, topScreen{stats: busyStats(), width: 80, height: 10}.text(), "more fits into a taller window")
}

func TestTop_TakesAnswersAndKeys(t *testing.T) {
	now := time.Unix(1000, 0)
	var m tea.Model = topScreen{stats: busyStats(), heard: now, now: func() time.Time { return now }}
	later := busyStats()
	later.Live.Connections = 999
	m, next := m.Update(asked{stats: later})
	require.NotNil(t, next, "it asks again")
	require.Contains(t, m.View().Content, "999 connections")
	require.True(t, m.View().AltScreen)
	now = now.Add(90 * time.Second)
	m, next = m.Update(asked{err: errNoAnswer})
	require.NotNil(t, next, "it goes on asking")
	require.Contains(t, m.View().Content, "999 connections", "what was known stays")
	require.Contains(t, m.View().Content, "no node answers since 1m30s ago")
	m, _ = m.Update(asked{stats: later})
	require.NotContains(t, m.View().Content, "no node answers")
	_, none := m.Update(tea.KeyPressMsg{Code: 'x', Text: "x"})
	require.Nil(t, none)
	for _, key := range []tea.KeyPressMsg{{Code: 'q', Text: "q"}, {Code: tea.KeyEscape}, {Code: 'c', Mod: tea.ModCtrl}} {
		_, end := m.Update(key)
		require.NotNil(t, end, key.String())
		require.IsType(t, tea.QuitMsg{}, end())
	}
}

// It runs, asks, and ends by q, by a signal, and while a question is under way.
func TestTop_Runs(t *testing.T) {
	for name, end := range map[string]func(keys io.Writer, cancel func()){
		"q":      func(keys io.Writer, _ func()) { _, _ = io.WriteString(keys, "q") },
		"signal": func(_ io.Writer, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			in, keys := io.Pipe()
			defer keys.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			asking := make(chan struct{}, 1)
			ended := make(chan error, 1)
			var out syncBuffer
			go func() {
				ended <- runTop(ctx, &console{in: in, out: &out, env: []string{"TERM=xterm"}, now: time.Now}, busyStats(), func(ctx context.Context) (*gateway.StatsBody, error) {
					asking <- struct{}{}
					<-ctx.Done() // a node that does not answer
					return nil, ctx.Err()
				}, tea.WithWindowSize(100, 40))
			}()
			select {
			case <-asking:
			case err := <-ended:
				t.Fatal("it ended", err)
			case <-time.After(patience):
				t.Fatal("it does not ask")
			}
			end(keys, cancel)
			select {
			case err := <-ended:
				require.NoError(t, err)
			case <-time.After(patience):
				t.Fatal("it does not end")
			}
			require.Contains(t, out.String(), "12,345 connections")
		})
	}
}

func TestTop_WithoutATerminalIsOnce(t *testing.T) {
	tw := newTown(t, nil)
	var out bytes.Buffer
	c := &console{in: strings.NewReader(""), out: &out, err: io.Discard, now: time.Now}
	require.NoError(t, (&topCommand{adminFlag: adminFlag{Admin: tw.node.AdminURL()}}).Run(c))
	require.Contains(t, out.String(), "0 connections")
	err := (&topCommand{adminFlag: adminFlag{Admin: "http://127.0.0.1:1"}}).Run(c)
	require.True(t, errors.Is(err, errNoAnswer))
}
