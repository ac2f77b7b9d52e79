package gateway

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kith-nearby/kith/presence"
)

// FriendBody is one friend of a user, as the operator sees it.
type FriendBody struct {
	User  presence.PublicID `json:"user" example:"bob"`
	Share ShareBody         `json:"share" doc:"How the user asked about shares with this friend"`
}

// FriendsBody is all friends of a user.
type FriendsBody struct {
	Friends []FriendBody `json:"friends"`
}

type pairInput struct {
	A string `path:"a" example:"ann" doc:"A user's id"`
	B string `path:"b" example:"bob" doc:"Another user's id"`
}

type friendsInput struct {
	A string `path:"a" example:"ann" doc:"A user's id"`
}

func (p *publicAPI) registerFriends() {
	huma.Register(p.api, p.operatorCall("make-friends", http.MethodPut, "/v1/users/{a}/friends/{b}", "Make two users friends"),
		func(ctx context.Context, in *pairInput) (*struct{}, error) { return nil, p.setFriends(ctx, in, true) })
	huma.Register(p.api, p.operatorCall("end-friends", http.MethodDelete, "/v1/users/{a}/friends/{b}", "End the friendship of two users"),
		func(ctx context.Context, in *pairInput) (*struct{}, error) { return nil, p.setFriends(ctx, in, false) })
	huma.Register(p.api, p.operatorCall("list-friends", http.MethodGet, "/v1/users/{a}/friends", "All friends of a user"), p.friends)
}

func (p *publicAPI) setFriends(ctx context.Context, in *pairInput, friends bool) error {
	a, err := parseUser("a", in.A)
	if err != nil {
		return err
	}
	b, err := parseUser("b", in.B)
	if err != nil {
		return err
	}
	if a == b {
		return badField("b", "the two users are the same; a user cannot be their own friend")
	}
	if err := p.ports.Operator.SetFriends(ctx, a, b, friends); err != nil {
		return p.fail(err)
	}
	return nil
}

func (p *publicAPI) friends(ctx context.Context, in *friendsInput) (*struct{ Body FriendsBody }, error) {
	a, err := parseUser("a", in.A)
	if err != nil {
		return nil, err
	}
	list, err := p.ports.Operator.Friends(ctx, a)
	if err != nil {
		return nil, p.fail(err)
	}
	out := &struct{ Body FriendsBody }{FriendsBody{Friends: make([]FriendBody, 0, len(list))}}
	for _, f := range list {
		out.Body.Friends = append(out.Body.Friends, FriendBody{User: f.User, Share: shareBody(f.Share)})
	}
	return out, nil
}
