package gateway

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

type healthOutput struct {
	Body struct {
		Status string `json:"status" example:"ok"`
	}
}

type readyOutput struct {
	Status int
	Body   ReadyBody
}

// ReadyBody says whether a node should get new clients.
type ReadyBody struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty" enum:"starting,draining,fenced,store_down" doc:"Why it should not"`
}

func (p *publicAPI) registerHealth() {
	huma.Register(p.api, huma.Operation{
		OperationID: "health", Method: http.MethodGet, Path: healthPath, Tags: []string{"health"},
		Summary:     "Is the process working?",
		Description: "200 while the process works, whatever Redis or the database does.",
	}, func(context.Context, *struct{}) (*healthOutput, error) {
		var out healthOutput
		out.Body.Status = "ok"
		return &out, nil
	})
	ready := schemaFor[ReadyBody](p.api)
	huma.Register(p.api, huma.Operation{
		OperationID: "ready", Method: http.MethodGet, Path: readyPath, Tags: []string{"health"},
		Summary: "Should the node get new clients?",
		Responses: map[string]*huma.Response{
			"200": answer("It should", "application/json", ready),
			"503": answer("It should not, for the reason given", "application/json", ready),
		},
	}, func(context.Context, *struct{}) (*readyOutput, error) {
		if why := p.ports.Readiness.NotReady(); why != "" {
			return &readyOutput{Status: http.StatusServiceUnavailable, Body: ReadyBody{Reason: why}}, nil
		}
		return &readyOutput{Status: http.StatusOK, Body: ReadyBody{Ready: true}}, nil
	})
}
