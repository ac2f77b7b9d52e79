package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/cmd/node/sim"
	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
)

type simCommand struct {
	URL  string        `name:"url" placeholder:"ws://…" help:"WebSocket of the node; by default that of the configuration."`
	For  time.Duration `placeholder:"TIME" help:"How long to run; by default until Ctrl-C."`
	Seed uint64        `default:"1" help:"The same seed makes the same people, friends and ways."`

	Users    int     `default:"200" group:"People" help:"How many."`
	City     string  `group:"People" placeholder:"NAME" help:"All live in this one: NAME, NAME,COUNTRY or LAT,LNG."`
	Cities   int     `default:"10" group:"People" help:"In how many cities they live, drawn by size."`
	Scatter  float64 `default:"3000" group:"People" placeholder:"M" help:"How far from the middle of their city, metres (standard deviation)."`
	Friends  float64 `default:"20" group:"People" help:"Friends of one person, on average."`
	SameCity float64 `default:"0.7" group:"People" help:"Share of them who live in the same city, 0 to 1."`
	Graph    string  `group:"People" placeholder:"FILE.csv" help:"Take friendships from a file, one pair of ids per line, instead of making them up."`
	Prefix   string  `group:"People" placeholder:"TEXT" help:"Begin of all ids; by default one that differs for each kind of population."`

	Interval   time.Duration `default:"30s" group:"Behaviour" help:"Between two reports of one person."`
	TimeScale  float64       `default:"1" group:"Behaviour" help:"They move, report and lose their network so many times faster."`
	Mix        string        `default:"still=40,walk=35,drive=20,train=5" group:"Behaviour" help:"Shares of people who stay, walk, drive and ride."`
	Dropouts   float64       `default:"6" group:"Behaviour" help:"How often one person loses the network, an hour."`
	Duplicates float64       `default:"0.03" group:"Behaviour" help:"Share of fixes that are sent twice."`
	Late       float64       `default:"0.03" group:"Behaviour" help:"Share of fixes that an older one follows."`
	Coarse     float64       `default:"0.01" group:"Behaviour" help:"Share of fixes less accurate than a kilometre."`
	Joins      float64       `default:"100" group:"Behaviour" help:"People who begin to connect, a second."`
	Radius     float64       `group:"Behaviour" placeholder:"M" help:"Metres that each asks to see; by default the node's."`

	Tolerance time.Duration `default:"3s" group:"Behaviour" help:"The longest that a message may be under way; twice the worst of the last minute, if that is more."`

	APIKey     string `name:"api-key" group:"Friendships" placeholder:"KEY" help:"One of the node's auth.api_keys. Others on this machine see flags; KITH_AUTH_API_KEYS they do not."`
	NoSetup    bool   `group:"Friendships" help:"Users and friendships are in the store; make none and look for none."`
	WriteGraph string `group:"Friendships" placeholder:"FILE.csv" help:"Only write the friendships, for kith import friends."`

	HDR string `name:"hdr" placeholder:"FILE" help:"Write both latencies there, in the text form of HdrHistogram."`
	signing
}

// Help shows examples.
func (simCommand) Help() string {
	return `People with homes, friends and phones who move, report, lose their network and come
back, each over a WebSocket of their own. What they are shown is compared with
where they are: a friend who is missing, one who must not be there, or one shown
wrongly is a fault, and makes the exit code 1. The rules are those of the
configuration: of a node elsewhere, say them with --set presence.KEY=VALUE.

Their tokens are signed with the node's auth.hs256_secret. Users and friendships
are made with one of auth.api_keys, where they are not there yet; for very many,
write them to a file and import that while the node is stopped.

Examples:

  kith sim --users 100 --for 5s --config kith.yaml
  kith sim --city Berlin --users 50 --interval 1s --dropouts 120 --for 5s --config kith.yaml
  kith sim --users 150 --write-graph friends.csv
  kith sim --graph friends.csv --no-setup --for 2s --config kith.yaml`
}

// Run simulates.
func (cmd *simCommand) Run(c *console) error {
	people, err := cmd.population(c)
	if err != nil {
		return err
	}
	if cmd.WriteGraph != "" {
		return cmd.writeGraph(c, people)
	}
	cfg, auth, err := cmd.load(c)
	if err != nil {
		return err
	}
	run, err := cmd.config(&cfg, auth, people, c.now)
	if err != nil {
		return usageError{err}
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	if !cmd.NoSetup {
		key, err := cmd.key(&cfg)
		if err != nil {
			return err
		}
		setup := simSetup{base: httpOf(run.URL), key: key, people: people, console: c}
		if run.Outsiders, err = setup.run(ctx); err != nil {
			return err
		}
	}
	mean, same := people.Friends()
	fmt.Fprintf(c.out, "%-14s %d in %d cities, with %.1f friends each, %.0f %% of them in the same city\n", "people", len(people.People), len(people.Cities), mean, 100*same)
	s, err := sim.New(run)
	if err != nil {
		return usageError{err}
	}
	r := watch(ctx, stop, c, s, cmd.For)
	r.Print(c.out)
	if err := cmd.writeHDR(&r); err != nil {
		return err
	}
	if err := r.Err(); err != nil {
		return err
	}
	if r.Pairs == 0 && people.Pairs > 0 {
		return errors.New("no pair of friends was ever connected for long enough to be judged; run it longer (--for), and check the node's log")
	}
	return nil
}

func (cmd *simCommand) population(c *console) (*sim.Population, error) {
	m := sim.Make{
		Seed: cmd.Seed, Users: cmd.Users, Friends: cmd.Friends, SameCity: cmd.SameCity, Cities: cmd.Cities, Scatter: cmd.Scatter,
		Prefix: cmd.Prefix,
	}
	if cmd.City != "" {
		town, err := sim.FindCity(cmd.City)
		if err != nil {
			return nil, usageError{err}
		}
		m.Town = &town
	}
	if cmd.Prefix != "" && cmd.Prefix != "-" {
		if _, err := presence.ParsePublicID(cmd.Prefix + "x"); err != nil {
			return nil, usageError{fmt.Errorf("--prefix: %w", err)}
		}
	}
	if cmd.Graph != "" {
		var err error
		if m.Graph, err = readGraph(c, cmd.Graph); err != nil {
			return nil, err
		}
	}
	people, err := m.Population()
	if err != nil {
		return nil, usageError{err}
	}
	return people, nil
}

// mostPairs bounds a file of friendships.
const mostPairs = 5_000_000

func readGraph(c *console, path string) ([][2]string, error) {
	in, _, err := openInput(c, path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	all := [][2]string{}
	for pair, err := range pairs(in) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if len(all) >= mostPairs {
			return nil, fmt.Errorf("read %s: it has more than %d pairs", path, mostPairs)
		}
		all = append(all, [2]string{string(pair.A), string(pair.B)})
	}
	return all, nil
}

func (cmd *simCommand) config(cfg *config.Config, auth *gateway.Auth, people *sim.Population, now func() time.Time) (sim.Config, error) {
	mix, err := sim.ParseMix(cmd.Mix)
	run := sim.Config{
		URL: cmd.URL, People: people, Seed: cmd.Seed, For: cmd.For, Interval: cmd.Interval, TimeScale: cmd.TimeScale, Joins: cmd.Joins,
		Mix: mix, Flaws: sim.Flaws{Duplicates: cmd.Duplicates, Late: cmd.Late, Coarse: cmd.Coarse}, Dropouts: cmd.Dropouts, Radius: cmd.Radius,
		Judge: true, Tolerance: cmd.Tolerance, Grace: cfg.Presence.OfflineGrace, Stale: cfg.Presence.StaleAfter,
		Token: func(user string) (string, error) { return auth.Issue(presence.PublicID(user), simTTL, now()) },
	}
	if cmd.URL == "" {
		run.URL = socketURL(cfg)
	}
	if cfg.Presence.MaxSpeedMPS > 0 {
		run.Hold = cfg.Presence.JumpHold
	}
	return run, errors.Join(err, run.Validate())
}

// simTTL is how long the tokens of simulated people hold.
const simTTL = 24 * time.Hour

func (cmd *simCommand) key(cfg *config.Config) (string, error) {
	if cmd.APIKey != "" {
		return cmd.APIKey, nil
	}
	if len(cfg.Auth.APIKeys) > 0 {
		return cfg.Auth.APIKeys[0].Reveal(), nil
	}
	return "", usageError{errors.New("making friendships needs one of the node's auth.api_keys: set KITH_AUTH_API_KEYS, or bring them in with --write-graph and kith import friends, and use --no-setup")}
}

func (cmd *simCommand) writeGraph(c *console, people *sim.Population) error {
	f, err := os.Create(cmd.WriteGraph)
	if err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString("a,b\n")
	_ = people.Each(func(a, b string) error {
		text.WriteString(a + "," + b + "\n")
		return nil
	})
	_, err = io.WriteString(f, text.String())
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%d friendships of %d people; bring them in with: kith import friends %s\n", people.Pairs, len(people.People), cmd.WriteGraph)
	return err
}

func (cmd *simCommand) writeHDR(r *sim.Result) error {
	if cmd.HDR == "" {
		return nil
	}
	f, err := os.Create(cmd.HDR)
	if err != nil {
		return err
	}
	return errors.Join(r.Distributions(f), f.Close())
}

// Times of what a run shows of itself.
const (
	simShow = 500 * time.Millisecond // in a terminal
	simSay  = 10 * time.Second       // elsewhere
)

// watch runs s and says how it goes: in a terminal in one line, with a bar if
// the end is known, elsewhere a line now and then.
func watch(ctx context.Context, second context.CancelFunc, c *console, s *sim.Sim, whole time.Duration) sim.Result {
	done := make(chan sim.Result, 1)
	go func() { done <- s.Run(ctx) }()
	every := simSay
	if terminal(c.err) {
		every = simShow
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	show := lineShower(c.err, whole)
	before := s.Result()
	interrupted := ctx.Done()
	for {
		select {
		case r := <-done:
			show("", 0)
			return r
		case <-interrupted:
			interrupted = nil
			second() // the next signal ends the process
		case <-tick.C:
			r := s.Result()
			show(r.Line(&before), r.Took)
			before = r
		}
	}
}

// lineShower shows lines; "" = there are no more.
func lineShower(w io.Writer, whole time.Duration) func(line string, at time.Duration) {
	switch {
	case !terminal(w):
		return func(line string, _ time.Duration) {
			if line != "" {
				fmt.Fprintln(w, line)
			}
		}
	case whole == 0:
		return func(line string, _ time.Duration) { fmt.Fprintf(w, "\r\x1b[K%s", line) }
	}
	bar := progressbar.NewOptions64(int64(whole), progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetWidth(8), progressbar.OptionThrottle(simShow/5), progressbar.OptionShowDescriptionAtLineEnd())
	return func(line string, at time.Duration) {
		if line == "" {
			_ = bar.Finish()
			return
		}
		bar.Describe(line)
		_ = bar.Set64(min(int64(at), int64(whole)-1))
	}
}
