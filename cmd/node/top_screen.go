package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kith-nearby/kith/gateway"
)

// topScreen is kith top on a terminal: the last snapshot, and whether the node
// still answers.
type topScreen struct {
	stats         *gateway.StatsBody
	err           error
	heard         time.Time // when the node last answered
	now           func() time.Time
	ask           func() (*gateway.StatsBody, error)
	width, height int
}

// asked is the answer of the node.
type asked struct {
	stats *gateway.StatsBody
	err   error
}

// runTop shows snapshots until q or the end of ctx.
func runTop(ctx context.Context, c *console, first *gateway.StatsBody, ask func(context.Context) (*gateway.StatsBody, error), more ...tea.ProgramOption) error {
	ctx, cancel := context.WithCancel(ctx) // ends a question that is under way
	defer cancel()
	screen := topScreen{stats: first, heard: c.now(), now: c.now, ask: func() (*gateway.StatsBody, error) { return ask(ctx) }}
	_, err := tea.NewProgram(screen, append(more,
		tea.WithContext(ctx), tea.WithInput(c.in), tea.WithOutput(c.out), tea.WithEnvironment(c.env), tea.WithoutSignalHandler(),
	)...).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil // a signal: that is how some end it
	}
	return err
}

// Init asks for the second snapshot.
func (s topScreen) Init() tea.Cmd { return s.later() }

// later asks the node after a while.
func (s topScreen) later() tea.Cmd {
	return tea.Tick(topEvery, func(time.Time) tea.Msg {
		stats, err := s.ask()
		return asked{stats, err}
	})
}

// Update takes in a key, another size of the window, or an answer.
func (s topScreen) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	switch m := m.(type) {
	case tea.KeyPressMsg:
		switch m.String() {
		case "q", "Q", "esc", "ctrl+c":
			return s, tea.Quit
		}
	case tea.WindowSizeMsg:
		s.width, s.height = m.Width, m.Height
	case asked:
		if s.err = m.err; m.err == nil {
			s.stats, s.heard = m.stats, s.now()
		}
		return s, s.later()
	}
	return s, nil
}

// View is what fits into the window. The last line says how to leave.
func (s topScreen) View() tea.View {
	v := tea.NewView(s.text())
	v.AltScreen = true
	v.WindowTitle = "kith top " + s.stats.Node.Instance
	return v
}

func (s topScreen) text() string {
	last := "q ends"
	if s.err != nil {
		last = fmt.Sprintf("%v since %v ago   q ends", s.err, s.now().Sub(s.heard).Round(time.Second))
	}
	lines := strings.Split(strings.TrimRight(topText(s.stats, s.width), "\n"), "\n")
	if room := s.height - 1; s.height > 0 && len(lines) > room {
		lines = lines[:max(0, room)]
		last += "   more fits into a taller window"
	}
	return strings.Join(append(lines, cut(last, s.width)), "\n")
}
