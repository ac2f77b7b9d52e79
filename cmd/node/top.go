package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/kith-nearby/kith/gateway"
)

// topEvery is how often kith top asks: as often as a node looks at itself.
const topEvery = time.Second

type topCommand struct {
	adminFlag
	Once bool `help:"Print one snapshot as text and end, as is done where the output is no terminal."`
	JSON bool `name:"json" help:"Print one snapshot as JSON, as GET /v1/stats has it, and end."`
	source
}

// Help shows examples.
func (topCommand) Help() string {
	return `What the operator's page shows, in a terminal: people, rates, latencies, queues,
how connections ended, what was refused. q ends it.

Examples:

  kith top --config kith.yaml
  kith top --once --config kith.yaml
  kith top --json --config kith.yaml`
}

// Run shows a node until q, or once.
func (cmd *topCommand) Run(c *console) error {
	cfg, _, err := cmd.load(c, nil)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	url := cmd.base(&cfg) + "/v1/stats"
	if cmd.JSON {
		var raw json.RawMessage
		if err := call(ctx, http.MethodGet, url, &raw, http.StatusOK); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.out, "%s\n", raw)
		return err
	}
	var first gateway.StatsBody
	if err := call(ctx, http.MethodGet, url, &first, http.StatusOK); err != nil {
		return err
	}
	in, isFile := c.in.(*os.File)
	if cmd.Once || !terminal(c.out) || !isFile || !terminal(in) {
		_, err := io.WriteString(c.out, topText(&first, 0))
		return err
	}
	return runTop(ctx, c, &first, func(ctx context.Context) (*gateway.StatsBody, error) {
		s := &gateway.StatsBody{}
		err := call(ctx, http.MethodGet, url, s, http.StatusOK)
		if errors.Is(err, errNoAnswer) {
			err = errNoAnswer // without what to do: it did answer before
		}
		return s, err
	})
}
