// Command kith is the Kith server and its tools. See kith --help.
package main

import (
	"os"
	"time"
)

func main() {
	os.Exit(run(os.Args[1:], &console{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ(), now: time.Now}))
}
