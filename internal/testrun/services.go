package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// service is something outside of Kith that tests can ask for.
type service struct {
	variable string   // the environment variable that tests read: a URL
	program  string   // what must be installed
	packages []string // Debian's packages that have it
	// start starts it with its data in dir, which does not exist yet, and
	// returns when it answers.
	start func(ctx context.Context, dir string) (p *process, url string, err error)
}

var services = []service{
	{"KITH_TEST_REDIS", "redis-server", []string{"redis-server"}, startRedis},
	{"KITH_TEST_POSTGRES", "postgres", []string{"postgresql"}, startPostgres},
}

// tool is a program that tests run themselves. A test file asks for it by a
// comment: testrun:needs and the program.
type tool struct {
	program  string
	packages []string // Debian's packages that have it
}

var tools = []tool{
	{"chromium", []string{"chromium"}},
	{"node", []string{"nodejs"}},
	{"npm", []string{"npm"}},
	{"curl", []string{"curl"}},
}

// marker is how a test file asks for t.
func (t tool) marker() string { return "testrun:needs " + t.program }

// find returns the path of a program, "" if it is not installed. Debian keeps
// PostgreSQL's out of PATH.
func find(program string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	paths, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program)
	if len(paths) == 0 {
		return ""
	}
	return slices.Max(paths)
}

// askedFor returns which variables and tools the test files below root name.
func askedFor(root fs.FS) (map[string]bool, error) {
	asked := map[string]bool{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || name == "internal/testrun" || name == ".git"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		for _, s := range services {
			if strings.Contains(string(text), s.variable) {
				asked[s.variable] = true
			}
		}
		for _, t := range tools {
			if strings.Contains(string(text), t.marker()) {
				asked[t.program] = true
			}
		}
		return nil
	})
	return asked, err
}

const (
	startWithin = 30 * time.Second
	stopWithin  = 10 * time.Second
)

func startRedis(ctx context.Context, dir string) (*process, string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, "", err
	}
	port, err := sparePort()
	if err != nil {
		return nil, "", err
	}
	p, err := launch(exec.Command(
		find("redis-server"), "--bind", "127.0.0.1", "--port", port, "--dir", dir,
		"--save", "", "--appendonly", "no", "--daemonize", "no"), dir)
	if err != nil {
		return nil, "", err
	}
	err = p.ready(ctx, func() bool { return redisAnswers(port) })
	return p, "redis://127.0.0.1:" + port + "/0", err
}

func redisAnswers(port string) bool {
	conn, err := net.DialTimeout("tcp", "127.0.0.1:"+port, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	answer := make([]byte, 7)
	n, _ := conn.Read(answer)
	return string(answer[:n]) == "+PONG\r\n"
}

func startPostgres(ctx context.Context, dir string) (*process, string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, "", err
	}
	as, err := unprivileged(dir)
	if err != nil {
		return nil, "", err
	}
	postgres, err := filepath.EvalSymlinks(find("postgres")) // its tools stand beside it
	if err != nil {
		return nil, "", err
	}
	bin, data := filepath.Dir(postgres), filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"),
		"-D", data, "-U", "kith", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = as, dir
	if text, err := initdb.CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("initdb: %w\n%s", err, text)
	}
	port, err := sparePort()
	if err != nil {
		return nil, "", err
	}
	server := exec.Command(postgres, "-D", data, "-h", "127.0.0.1", "-p", port,
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=200")
	server.SysProcAttr = as
	p, err := launch(server, dir)
	if err != nil {
		return nil, "", err
	}
	err = p.ready(ctx, func() bool {
		return exec.CommandContext(ctx, filepath.Join(bin, "pg_isready"), "-q", "-h", "127.0.0.1", "-p", port).Run() == nil
	})
	return p, "postgres://kith@127.0.0.1:" + port + "/postgres?sslmode=disable", err
}

// unprivileged makes dir the home of an account that is not root, which
// PostgreSQL refuses to run as. nil = we are not root.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		if account, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err1 := strconv.ParseUint(account.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(account.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	// The parent folder is ours alone: others may pass through it, and see nothing.
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chown(dir, int(uid), int(gid))); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// sparePort returns a loopback port that nobody listens on now.
func sparePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// process is a running service.
type process struct {
	cmd  *exec.Cmd
	log  string // the file of its output
	done chan struct{}
	// patience is how long it may take to stop before it is killed.
	patience time.Duration
}

// launch starts cmd in a process group of its own, so that an interrupt from the
// keyboard reaches it only through stop.
func launch(cmd *exec.Cmd, dir string) (*process, error) {
	logFile, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer logFile.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, logFile, logFile
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, log: logFile.Name(), done: make(chan struct{}), patience: stopWithin}
	go func() {
		defer close(p.done)
		_ = cmd.Wait()
	}()
	return p, nil
}

// ready waits until answers does, and stops the process if it never does.
func (p *process) ready(ctx context.Context, answers func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !answers() {
		var why string
		select {
		case <-tick.C:
			continue
		case <-p.done:
			why = "it ended at once"
		case <-ctx.Done():
			why = "it does not answer"
		}
		p.stop()
		text, _ := os.ReadFile(p.log)
		return fmt.Errorf("%s:\n%s", why, text)
	}
	return nil
}

// stop ends the process: it is asked first, and killed if it does not listen.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-p.done:
	case <-time.After(p.patience):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}
