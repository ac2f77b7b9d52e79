package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/schollz/progressbar/v3"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

type importCommand struct {
	Friends importFriendsCommand `cmd:"" help:"Make the pairs of a file friends, and users of those who are none yet."`
}

type importFriendsCommand struct {
	File string `arg:"" placeholder:"FILE.csv" help:"CSV with one pair of public ids per line; a header \"a,b\" is skipped; - = standard input."`
	source
}

// Help shows examples.
func (importFriendsCommand) Help() string {
	return `The node must not run meanwhile: its database belongs to one process. While it
runs, use PUT /v1/users/{a}/friends/{b}. Importing again changes nothing.

Examples:

  kith import friends friends.csv --config kith.yaml`
}

// Run imports.
func (cmd *importFriendsCommand) Run(c *console) error {
	cfg, _, err := cmd.load(c, nil)
	if err != nil {
		return err
	}
	in, size, err := openInput(c, cmd.File)
	if err != nil {
		return err
	}
	defer in.Close()
	ctx, stop := untilSignal(context.Background())
	defer stop()
	st, err := openStore(ctx, &cfg, quietLogger())
	if err != nil {
		return err
	}
	defer st.Close()
	bar := progress(c.err, size)
	counted := &counter{Reader: in}
	stats, err := st.ImportFriends(ctx, pairs(counted), presence.Millis(c.now().UnixMilli()), func(int) { _ = bar.Set64(counted.n) })
	_ = bar.Finish()
	if stats.Pairs > 0 {
		fmt.Fprintf(c.out, "%d pairs: %d new friendships, %d there already, %d users created\n", stats.Pairs, stats.Friends, stats.Known, stats.Users)
		if left := stats.Self + stats.TooMany + stats.Blocked; left > 0 {
			fmt.Fprintf(c.out, "%d left out: %d name one user twice, %d have too many friends, %d block each other\n", left, stats.Self, stats.TooMany, stats.Blocked)
		}
	}
	if err != nil {
		return fmt.Errorf("import %s: %w; importing again goes on where it ended", cmd.File, err)
	}
	if stats.Pairs == 0 {
		return fmt.Errorf("import %s: there is no pair in it; write one pair of ids per line, as in: alice,bob", cmd.File)
	}
	return nil
}

// openInput opens a file, or standard input for "-", with its size or -1.
func openInput(c *console, path string) (io.ReadCloser, int64, error) {
	if path == "-" {
		return io.NopCloser(c.in), -1, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("%w; check the path", err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("it is a directory; name a file")
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, fmt.Errorf("open %s: %w", path, err)
	}
	return f, info.Size(), nil
}

// counter counts what was read.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// progress is a bar over bytes in a terminal, and nothing elsewhere.
func progress(w io.Writer, size int64) *progressbar.ProgressBar {
	if !terminal(w) {
		return progressbar.DefaultBytesSilent(size)
	}
	return progressbar.NewOptions64(size, progressbar.OptionSetWriter(w), progressbar.OptionShowBytes(true),
		progressbar.OptionSetDescription("importing"), progressbar.OptionClearOnFinish())
}

// pairs reads a pair a line, without a header and with nothing else.
func pairs(r io.Reader) iter.Seq2[store.Pair, error] {
	return func(yield func(store.Pair, error) bool) {
		in := csv.NewReader(bufio.NewReaderSize(r, 1<<16))
		in.FieldsPerRecord, in.ReuseRecord, in.TrimLeadingSpace, in.Comment = -1, true, true, '#'
		for first := true; ; first = false {
			fields, err := in.Read()
			if err == io.EOF {
				return
			}
			if first && err == nil && isHeader(fields) {
				continue
			}
			pair, err := pairOf(in, fields, err)
			if !yield(pair, err) || err != nil {
				return
			}
		}
	}
}

func isHeader(fields []string) bool {
	return len(fields) == 2 && strings.EqualFold(strings.TrimPrefix(fields[0], "\ufeff"), "a") && strings.EqualFold(fields[1], "b")
}

func pairOf(in *csv.Reader, fields []string, err error) (store.Pair, error) {
	if err != nil {
		return store.Pair{}, err // names the line
	}
	line, _ := in.FieldPos(0)
	if len(fields) != 2 {
		return store.Pair{}, fmt.Errorf("line %d has %d columns and needs two: a,b", line, len(fields))
	}
	a, errA := presence.ParsePublicID(strings.TrimSpace(fields[0]))
	b, errB := presence.ParsePublicID(strings.TrimSpace(fields[1]))
	if err := errors.Join(errA, errB); err != nil {
		return store.Pair{}, fmt.Errorf("line %d: %w", line, err)
	}
	return store.Pair{A: presence.PublicID(strings.Clone(string(a))), B: presence.PublicID(strings.Clone(string(b)))}, nil
}
