package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// roleVariable names the part that this program plays as somebody's child.
const roleVariable = "KITH_BENCH_ROLE"

// role serves the questions of the parent: each is a line of JSON, answered by
// one. ask returns an error when the parent has gone.
type role func(start json.RawMessage, ask func(answer any) (question json.RawMessage, err error)) error

// roles are the parts to play, by name.
func roles() map[string]role {
	return map[string]role{
		"memory": playMemory,
		"edge":   playEdge,
		"bare":   playBare,
		"crowd":  playCrowd,
		"load":   playLoad,
		"relay":  playRelay,
	}
}

// play plays a part until the parent closes the pipe.
func play(name string) error {
	r, ok := roles()[name]
	if !ok {
		return fmt.Errorf("no such role")
	}
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	next := func() (json.RawMessage, error) { return in.ReadBytes('\n') }
	start, err := next()
	if err != nil {
		return err
	}
	return r(start, func(answer any) (json.RawMessage, error) {
		if err := out.Encode(answer); err != nil {
			return nil, err
		}
		return next()
	})
}

// child is a process that plays a part.
type child struct {
	b    *testing.B
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// startChild starts a process with the given part and waits until it is ready;
// its first answer goes to ready. env are more variables.
func startChild(b *testing.B, name string, start, ready any, env ...string) *child {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	c := &child{b: b, name: name, cmd: exec.Command(self)}
	c.cmd.Env = append(append(os.Environ(), roleVariable+"="+name), env...)
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.stop)
	c.ask(start, ready)
	return c
}

// ask sends a question and decodes the answer, if answer is not nil.
func (c *child) ask(question, answer any) {
	c.b.Helper()
	if err := json.NewEncoder(c.in).Encode(question); err != nil {
		c.b.Fatalf("%s: %v", c.name, err)
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		c.b.Fatalf("%s ended: %v", c.name, err)
	}
	if answer == nil {
		return
	}
	if err := json.Unmarshal(line, answer); err != nil {
		c.b.Fatalf("%s: %v in %q", c.name, err, line)
	}
}

// stop closes the pipe, on which the child ends, and ends it if it does not.
func (c *child) stop() {
	if c.cmd.ProcessState != nil {
		return
	}
	_ = c.in.Close()
	late := time.AfterFunc(10*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	_ = c.cmd.Wait()
}
