package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kith-nearby/kith/presence"
)

func (p *publicAPI) registerOwnTracks() {
	huma.Register(p.api, huma.Operation{
		OperationID: "owntracks", Method: http.MethodPost, Path: "/owntracks", Tags: []string{"owntracks"},
		Summary: "The OwnTracks apps in HTTP mode",
		Description: "Takes a location message and answers with the locations and cards of the friends near. " +
			"Its tst is also its seq, so a message sent again changes nothing. Messages of other types, encrypted ones too, are answered with [].",
		Security: needsTracker, Middlewares: huma.Middlewares{p.asTracker, jsonBody},
		MaxBodyBytes: bodyLimit(maxBody), BodyReadTimeout: bodyWithin, SkipValidateBody: true,
		Responses: map[string]*huma.Response{
			"200":     answer("Friends near, as OwnTracks messages", "application/json", &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject}}),
			"default": p.errorsOf(),
		},
	}, p.ownTracks)
	documentBody(p.api.OpenAPI().Paths["/owntracks"].Post, &huma.Schema{Type: huma.TypeObject}, false)
}

type trackerInput struct {
	RawBody []byte `contentType:"application/json"`
	Device  string `header:"X-Limit-D" maxLength:"64" doc:"The device; absent = that of the message's topic"`
}

func (p *publicAPI) ownTracks(ctx context.Context, in *trackerInput) (*rawOutput, error) {
	fix, device, err := trackerFix(in.RawBody, presence.Millis(p.cfg.Now().UnixMilli()))
	if errors.Is(err, errNoLocation) {
		return &rawOutput{ContentType: "application/json", Body: []byte("[]")}, nil
	}
	if err != nil {
		return nil, err
	}
	if in.Device != "" {
		if device, err = presence.ParseDeviceID(in.Device); err != nil {
			return nil, badField("X-Limit-D", "X-Limit-D: %v", err)
		}
	}
	if err := p.record(ctx, device, []presence.Fix{fix}); err != nil {
		return nil, err
	}
	near, err := p.ports.Views.Nearby(ctx, callerOf(ctx).id)
	if err != nil {
		return nil, p.fail(err)
	}
	return &rawOutput{ContentType: "application/json", Body: trackerAnswer(near)}, nil
}
