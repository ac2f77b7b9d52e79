package host

import (
	"errors"
	"fmt"
	"time"
)

// Config sets the host's sizes. Every size is a bound.
type Config struct {
	// Shards is how many actors share the users among them. More shards than
	// cores only make more messages. 0 = GOMAXPROCS.
	Shards int
	// HighWater is how many messages may wait at one shard before Admit makes the
	// edges wait. They go on at half of it. 50,000 are some 20 ms of work.
	HighWater int
	// AdmitWait is the longest that Admit waits.
	AdmitWait time.Duration
	// Mailbox is how many messages may wait at an actor that is not in a shard
	// (a room, a cell). More are refused and counted. Admit makes the edges wait
	// from half of it.
	Mailbox int
	// LoadWorkers is how many reads of friendships go on at a time.
	LoadWorkers int
	// LoadQueue is how many reads may wait for a worker. More are answered at
	// once with an error, which a Core tries again after a while. Each place
	// costs 64 bytes.
	LoadQueue int
	// LoadTimeout ends one read.
	LoadTimeout time.Duration
	// Asks is how many questions may wait for an answer.
	Asks int
	// Tick is the grain of timers: a timer fires up to one Tick late, never early.
	Tick time.Duration
	// Now is the server's clock. Where it does not follow real time (in tests),
	// Wake must be called after it was moved. nil = time.Now.
	Now func() time.Time
}

// Default returns what suits a node of a few cores.
func Default() Config {
	return Config{
		HighWater:   50_000,
		AdmitWait:   5 * time.Second,
		Mailbox:     16_384,
		LoadWorkers: 16,
		LoadQueue:   16_384,
		LoadTimeout: 10 * time.Second,
		Asks:        4_096,
		Tick:        10 * time.Millisecond,
	}
}

const maxShards = 1024

// Validate returns all faults of c, joined.
func (c *Config) Validate() error {
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(c.Shards >= 0 && c.Shards <= maxShards, "shards is 0 to %d, not %d", maxShards, c.Shards)
	for _, size := range []struct {
		name  string
		value int
	}{
		{"high_water", c.HighWater},
		{"mailbox", c.Mailbox},
		{"load_workers", c.LoadWorkers},
		{"load_queue", c.LoadQueue},
		{"asks", c.Asks},
	} {
		check(size.value > 0, "%s is at least 1, not %d", size.name, size.value)
	}
	check(c.AdmitWait > 0, "admit_wait is positive, not %v", c.AdmitWait)
	check(c.LoadTimeout > 0, "load_timeout is positive, not %v", c.LoadTimeout)
	check(c.Tick >= time.Millisecond, "tick is at least 1ms, not %v", c.Tick)
	return errors.Join(faults...)
}
