package gateway

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kith-nearby/kith/presence"
)

// ShareBody is how one user shares with another.
type ShareBody struct {
	Mode  string          `json:"mode" enum:"exact,area,none"`
	Until presence.Millis `json:"until,omitempty" doc:"Unix milliseconds at which this ends; absent = it does not"`
	Then  string          `json:"then,omitempty" enum:"exact,area,none" doc:"The mode from then on"`
}

func shareBody(s presence.Share) ShareBody {
	b := ShareBody{Mode: s.Mode.String(), Until: s.Until}
	if s.Until != 0 {
		b.Then = s.Then.String()
	}
	return b
}

// UserBody is a user as the operator sees it.
type UserBody struct {
	User    presence.PublicID `json:"user" example:"ann"`
	Created presence.Millis   `json:"created" doc:"Unix milliseconds"`
	Share   ShareBody         `json:"share" doc:"How the user shares with everyone"`
}

// PutBody answers the creation of a user.
type PutBody struct {
	User    presence.PublicID `json:"user" example:"ann"`
	Created bool              `json:"created" doc:"Whether the user is new"`
}

// StatusBody is where a user stands.
type StatusBody struct {
	User     presence.PublicID `json:"user" example:"ann"`
	State    string            `json:"state" enum:"live,idle,stale,offline"`
	LastSeen presence.Millis   `json:"last_seen" doc:"Unix milliseconds; 0 = not known"`
	Node     string            `json:"node" example:"n1" doc:"Empty when offline"`
}

// UserPath names a user in a path.
type UserPath struct {
	User string `path:"user" example:"ann" doc:"1 to 64 characters of A-Z a-z 0-9 . _ ~ @ -"`
}

type putOutput struct {
	Status int
	Body   PutBody
}

type presenceInput struct {
	Body struct {
		Users []string `json:"users" maxItems:"1000" doc:"Ids of users; those who do not exist are offline"`
	}
}

func (p *publicAPI) registerUsers() {
	op := p.operatorCall("put-user", http.MethodPut, "/v1/users/{user}", "Create a user, or leave as is")
	put := schemaFor[PutBody](p.api)
	op.Responses = map[string]*huma.Response{
		"200":     answer("The user was there already", "application/json", put),
		"201":     answer("The user is new", "application/json", put),
		"default": p.errorsOf(),
	}
	huma.Register(p.api, op, p.putUser)
	huma.Register(p.api, p.operatorCall("get-user", http.MethodGet, "/v1/users/{user}", "Read a user"), p.getUser)
	huma.Register(p.api, p.operatorCall("erase-user", http.MethodDelete, "/v1/users/{user}", "Erase a user with friendships and history"), p.eraseUser)
	op = p.operatorCall("presence", http.MethodPost, "/v1/presence", "Where up to 1 000 users stand, in the order asked")
	op.Middlewares = append(op.Middlewares, jsonBody)
	op.MaxBodyBytes = bodyLimit(128 << 10) // 1 000 ids of 64 bytes with quotes, commas and room
	op.BodyReadTimeout = bodyWithin
	huma.Register(p.api, op, p.presence)
}

func (p *publicAPI) operatorCall(id, method, path, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		Tags: []string{"operator"}, Security: needsKey, Middlewares: huma.Middlewares{p.asOperator},
	}
}

// bodyLimit makes huma, which refuses a body that reaches its limit, take one
// of exactly n bytes.
func bodyLimit(n int64) int64 { return n + 1 }

func parseUser(field, s string) (presence.PublicID, error) {
	id, err := presence.ParsePublicID(s)
	if err != nil {
		return "", badField(field, "%s: %v", field, err)
	}
	return id, nil
}

func (p *publicAPI) putUser(ctx context.Context, in *UserPath) (*putOutput, error) {
	user, err := parseUser("user", in.User)
	if err != nil {
		return nil, err
	}
	created, err := p.ports.Operator.PutUser(ctx, user)
	if err != nil {
		return nil, p.fail(err)
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return &putOutput{Status: status, Body: PutBody{User: user, Created: created}}, nil
}

func (p *publicAPI) getUser(ctx context.Context, in *UserPath) (*struct{ Body UserBody }, error) {
	user, err := parseUser("user", in.User)
	if err != nil {
		return nil, err
	}
	info, err := p.ports.Operator.GetUser(ctx, user)
	if err != nil {
		return nil, p.fail(err)
	}
	return &struct{ Body UserBody }{UserBody{User: info.User, Created: info.Created, Share: shareBody(info.Share)}}, nil
}

func (p *publicAPI) eraseUser(ctx context.Context, in *UserPath) (*struct{}, error) {
	user, err := parseUser("user", in.User)
	if err != nil {
		return nil, err
	}
	if err := p.ports.Operator.EraseUser(ctx, user); err != nil {
		return nil, p.fail(err)
	}
	return nil, nil
}

func (p *publicAPI) presence(ctx context.Context, in *presenceInput) (*struct{ Body []StatusBody }, error) {
	users := make([]presence.PublicID, len(in.Body.Users))
	for i, s := range in.Body.Users {
		user, err := parseUser(fmt.Sprintf("users[%d]", i), s)
		if err != nil {
			return nil, err
		}
		users[i] = user
	}
	out := &struct{ Body []StatusBody }{Body: make([]StatusBody, 0, len(users))}
	if len(users) == 0 {
		return out, nil
	}
	got, err := p.ports.Views.Presence(ctx, users)
	if err != nil {
		return nil, p.fail(err)
	}
	for _, s := range got {
		out.Body = append(out.Body, StatusBody{User: s.User, State: s.State.String(), LastSeen: s.LastSeen, Node: s.Node})
	}
	return out, nil
}
