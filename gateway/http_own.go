package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kith-nearby/kith/wire"
)

// NearbyBody is the view of a user. It only documents: wire writes it.
type NearbyBody struct {
	Near []NearBody `json:"near"`
}

// NearBody is one friend in a view, as in the WebSocket's friends message.
type NearBody struct {
	User      string   `json:"user"`
	Lat       float64  `json:"lat" doc:"Degrees"`
	Lng       float64  `json:"lng" doc:"Degrees"`
	TS        int64    `json:"ts" doc:"Unix milliseconds of the fix"`
	Accuracy  *float64 `json:"acc,omitempty" doc:"Metres, radius of 68 %"`
	Speed     *float64 `json:"speed,omitempty" doc:"m/s"`
	Heading   *float64 `json:"heading,omitempty" doc:"Degrees in [0, 360)"`
	Battery   *float64 `json:"battery,omitempty" doc:"0 to 1"`
	State     string   `json:"state" enum:"live,idle"`
	Precision string   `json:"precision" enum:"exact,area"`
	Distance  float64  `json:"distance_m" doc:"Metres"`
	Bearing   float64  `json:"bearing_deg" doc:"Degrees from north, as seen by the caller"`
}

type rawOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func (p *publicAPI) registerOwn() {
	huma.Register(p.api, huma.Operation{
		OperationID: "nearby", Method: http.MethodGet, Path: "/v1/nearby", Tags: []string{"user"},
		Summary:     "My friends near me",
		Description: "The same items and the same answer as the WebSocket's view; empty before the first fix.",
		Security:    needsUser, Middlewares: huma.Middlewares{p.asUser},
		Responses: map[string]*huma.Response{
			"200":     answer("The view", "application/json", schemaFor[NearbyBody](p.api)),
			"default": p.errorsOf(),
		},
	}, p.nearby)
	huma.Register(p.api, huma.Operation{
		OperationID: "erase-me", Method: http.MethodDelete, Path: "/v1/me", Tags: []string{"user"},
		Summary:  "Erase all of mine: friendships, history, presence",
		Security: needsUser, Middlewares: huma.Middlewares{p.asUser},
	}, p.eraseMe)
}

func (p *publicAPI) nearby(ctx context.Context, _ *struct{}) (*rawOutput, error) {
	near, err := p.ports.Views.Nearby(ctx, callerOf(ctx).id)
	if err != nil {
		return nil, p.fail(err)
	}
	b := append(make([]byte, 0, 16+256*len(near)), `{"near":[`...)
	for i := range near {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendNear(b, &near[i])
	}
	return &rawOutput{ContentType: "application/json", Body: append(b, "]}"...)}, nil
}

func (p *publicAPI) eraseMe(ctx context.Context, _ *struct{}) (*struct{}, error) {
	err := p.ports.Accounts.Erase(ctx, callerOf(ctx).id)
	if err != nil && !errors.Is(err, ErrNotFound) { // erased meanwhile is erased
		return nil, p.fail(err)
	}
	return nil, nil
}
