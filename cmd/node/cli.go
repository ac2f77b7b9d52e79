package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-isatty"

	"github.com/kith-nearby/kith/cmd/node/config"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it was asked for rightly and did not work
	exitUsage  = 2 // the command line or the configuration is wrong; trying again does not help
)

// console is all that a command has of the world around the process.
type console struct {
	in       io.Reader
	out, err io.Writer
	env      []string
	now      func() time.Time
}

// terminal reports whether w is one, for colours and lines that are rewritten.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// commands is the command line, for kong.
type commands struct {
	Serve   serveCommand   `cmd:"" help:"Run a node."`
	Dev     devCommand     `cmd:"" help:"Try it: a node on this machine with two friends, gone when it ends."`
	Token   tokenCommand   `cmd:"" help:"Print a user token."`
	Import  importCommand  `cmd:"" help:"Bring data into the store."`
	Replay  replayCommand  `cmd:"" help:"Send recorded positions through WebSockets, faster than they were made."`
	Sim     simCommand     `cmd:"" help:"Simulate people, and check what they are shown."`
	Config  configCommand  `cmd:"" help:"Check or print the configuration."`
	Status  statusCommand  `cmd:"" help:"Show how a node is."`
	Top     topCommand     `cmd:"" help:"Watch what a node is doing."`
	Drain   drainCommand   `cmd:"" help:"Send a node's clients away and stop it."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

const about = `Kith shows each person the friends near them, live.

Exit codes: 0 done, 1 it did not work, 2 the command line or the configuration is wrong.`

// usageError is a fault in what was asked for.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exited is how kong ends a command that only prints, such as --help.
type exited int

func run(args []string, c *console) (code int) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case exited:
			code = int(e)
		default:
			panic(e)
		}
	}()
	parser, err := newParser(c)
	if err != nil {
		panic(err) // the tags of commands are wrong, which every test of a command shows
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return c.fail(usageError{fmt.Errorf("%w; see kith --help", err)})
	}
	return c.fail(parsed.Run(c))
}

func newParser(c *console) (*kong.Kong, error) {
	return kong.New(&commands{},
		kong.Name("kith"), kong.Description(about),
		kong.Writers(c.out, c.err),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Bind(c),
	)
}

// fail prints err, if it is one, and returns the exit code for it.
func (c *console) fail(err error) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(c.err, "kith: %v\n", err)
	var (
		usage  usageError
		faults config.Faults
	)
	if errors.As(err, &usage) || errors.As(err, &faults) {
		return exitUsage
	}
	return exitFailed
}
