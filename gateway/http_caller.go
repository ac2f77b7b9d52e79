package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// caller is whose token came with a request.
type caller struct {
	id     presence.UserID
	public presence.PublicID
	most   *allowance
}

type callerKey struct{}

func callerOf(ctx context.Context) *caller { return ctx.Value(callerKey{}).(*caller) }

// asUser lets in requests with a user token, before their body is read.
func (p *publicAPI) asUser(ctx huma.Context, next func(huma.Context)) {
	token, problem := bearer(ctx, `Bearer realm="kith"`)
	if problem != nil {
		p.refuse(ctx, problem)
		return
	}
	p.admit(ctx, next, token, `Bearer realm="kith", error="invalid_token"`)
}

// asTracker lets in requests with a user token as the password of Basic.
func (p *publicAPI) asTracker(ctx huma.Context, next func(huma.Context)) {
	const challenge = `Basic realm="kith", charset="UTF-8"`
	r, _ := humago.Unwrap(ctx)
	_, token, ok := r.BasicAuth()
	if !ok || len(r.Header.Values("Authorization")) > 1 {
		p.refuse(ctx, unauthorized(challenge, "send a user token as the password of Basic authentication; the user name may be anything"))
		return
	}
	p.admit(ctx, next, token, challenge)
}

func (p *publicAPI) admit(ctx huma.Context, next func(huma.Context), token, challenge string) {
	now := p.cfg.Now()
	claims, err := p.auth.User(token, now)
	if err != nil {
		p.refuse(ctx, unauthorized(challenge, err.Error()))
		return
	}
	most := p.users.of(string(claims.User))
	if wait := spend(most.requests, now, 1); wait > 0 {
		p.refuse(ctx, tooMany(wait))
		return
	}
	id, err := p.ports.Accounts.Login(ctx.Context(), claims.User)
	if err != nil {
		p.refuse(ctx, p.failLogin(err))
		return
	}
	c := &caller{id: id, public: claims.User, most: most}
	next(huma.WithValue(ctx, callerKey{}, c))
}

func (p *publicAPI) failLogin(err error) *Problem {
	if errors.Is(err, ErrNotFound) {
		return newProblem(http.StatusNotFound, wire.NotFound, "the token is good, but its user does not exist here; the operator can create it with PUT /v1/users/{user}")
	}
	return p.fail(err)
}

// asOperator lets in requests with an API key.
func (p *publicAPI) asOperator(ctx huma.Context, next func(huma.Context)) {
	key, problem := bearer(ctx, `Bearer realm="kith operator"`)
	if problem != nil {
		p.refuse(ctx, problem)
		return
	}
	if !p.auth.APIKey(key) {
		detail := "this is not one of the API keys of auth.api_keys"
		if strings.Count(key, ".") == 2 {
			detail = "this call needs an API key; user tokens cannot make it"
		}
		p.refuse(ctx, unauthorized(`Bearer realm="kith operator", error="invalid_token"`, detail))
		return
	}
	if wait := spend(p.operators.of(key).requests, p.cfg.Now(), 1); wait > 0 {
		p.refuse(ctx, tooMany(wait))
		return
	}
	next(ctx)
}

// bearer returns the token of the one Authorization header.
func bearer(ctx huma.Context, challenge string) (string, *Problem) {
	r, _ := humago.Unwrap(ctx)
	got := r.Header.Values("Authorization")
	if len(got) != 1 {
		return "", unauthorized(challenge, "send one header, Authorization: Bearer TOKEN")
	}
	scheme, token, _ := strings.Cut(got[0], " ")
	if token = strings.TrimSpace(token); token == "" || !strings.EqualFold(scheme, "Bearer") {
		return "", unauthorized(challenge, "send the header as Authorization: Bearer TOKEN")
	}
	return token, nil
}

func unauthorized(challenge, detail string) *Problem {
	return newProblem(http.StatusUnauthorized, wire.Unauthorized, "%s", detail).with("WWW-Authenticate", challenge)
}

func tooMany(wait time.Duration) *Problem {
	return newProblem(http.StatusTooManyRequests, wire.TooMany, "too many requests; wait as long as Retry-After says").retryAfter(wait)
}

// refuse answers from a middleware, where huma writes no headers of errors.
func (p *publicAPI) refuse(ctx huma.Context, problem *Problem) {
	_, w := humago.Unwrap(ctx)
	problem.write(w)
}

// jsonBody refuses bodies that say they are something else than JSON.
func jsonBody(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if kind = strings.TrimSpace(kind); kind != "" && !strings.EqualFold(kind, "application/json") {
		wrongType().write(w)
		return
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		p := newProblem(http.StatusUnsupportedMediaType, wire.BadField, "send the body as it is, without a Content-Encoding")
		p.Field = "Content-Encoding"
		p.write(w)
		return
	}
	r.Header.Set("Content-Type", "application/json") // huma wants it spelt like this
	next(ctx)
}
