package gateway

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// HistoryParams are the parameters of both history calls; exported since huma
// sees no embedded type that is not. Times are read by
// parseTime, which is why they are strings here.
type HistoryParams struct {
	From   string `query:"from" example:"2026-01-31T12:00:00Z" doc:"First moment, RFC 3339 or unix milliseconds; absent = the first fix"`
	To     string `query:"to" example:"1798761600000" doc:"End, exclusive, RFC 3339 or unix milliseconds; absent = now"`
	Limit  int    `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"Most fixes in one answer"`
	Cursor string `query:"cursor" maxLength:"512" doc:"The next of the answer before, with the same from and to"`
	Format string `query:"format" enum:"json,geojson,gpx,csv" default:"json" doc:"How the answer is written; other formats than json give the next page in the Link header only"`
}

type ownHistoryInput struct{ HistoryParams }

type userHistoryInput struct {
	UserPath
	HistoryParams
}

type historyOutput struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition" doc:"A file name, for formats that people save"`
	Link        string `header:"Link" doc:"The next page, as rel=\"next\"; absent = this was the last"`
	Body        []byte
}

func (p *publicAPI) registerHistory() {
	own := huma.Operation{
		OperationID: "own-history", Method: http.MethodGet, Path: "/v1/history", Summary: "My fixes in time order",
		Tags: []string{"user"}, Security: needsUser, Middlewares: huma.Middlewares{p.asUser}, Responses: p.historyResponses(),
	}
	huma.Register(p.api, own, func(ctx context.Context, in *ownHistoryInput) (*historyOutput, error) {
		return p.history(ctx, callerOf(ctx).public, &in.HistoryParams, "/v1/history")
	})
	theirs := p.operatorCall("user-history", http.MethodGet, "/v1/users/{user}/history", "A user's fixes in time order")
	theirs.Responses = p.historyResponses()
	huma.Register(p.api, theirs, func(ctx context.Context, in *userHistoryInput) (*historyOutput, error) {
		user, err := parseUser("user", in.User)
		if err != nil {
			return nil, err
		}
		return p.history(ctx, user, &in.HistoryParams, "/v1/users/"+url.PathEscape(string(user))+"/history")
	})
}

func (p *publicAPI) historyResponses() map[string]*huma.Response {
	page := answer("A page of fixes", "application/json", schemaFor[HistoryBody](p.api))
	for _, f := range exports {
		if f.contentType != "application/json" {
			page.Content[f.contentType] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
		}
	}
	return map[string]*huma.Response{"200": page, "default": p.errorsOf()}
}

func (p *publicAPI) history(ctx context.Context, user presence.PublicID, in *HistoryParams, path string) (*historyOutput, error) {
	q, problem := in.query()
	if problem != nil {
		return nil, problem
	}
	rows, next, err := p.ports.Histories.History(ctx, user, q)
	if err != nil {
		return nil, p.fail(err)
	}
	f := exports[in.Format]
	out := &historyOutput{ContentType: f.contentType, Body: f.write(rows, next)}
	if f.file != "" {
		out.Disposition = `attachment; filename="` + f.file + `"`
	}
	if next != "" {
		out.Link = "<" + path + "?" + in.following(next).Encode() + `>; rel="next"`
	}
	return out, nil
}

// following is the query of the page after this one.
func (in *HistoryParams) following(cursor string) url.Values {
	v := url.Values{"cursor": {cursor}, "limit": {strconv.Itoa(in.Limit)}, "format": {in.Format}}
	if in.From != "" {
		v.Set("from", in.From)
	}
	if in.To != "" {
		v.Set("to", in.To)
	}
	return v
}

func (in *HistoryParams) query() (HistoryQuery, *Problem) {
	q := HistoryQuery{Limit: in.Limit, Cursor: in.Cursor}
	var problem *Problem
	if q.From, problem = parseTime("from", in.From); problem != nil {
		return q, problem
	}
	if q.To, problem = parseTime("to", in.To); problem != nil {
		return q, problem
	}
	if q.To != 0 && q.From >= q.To {
		return q, badTime("to", "to must be after from")
	}
	for i := range len(in.Cursor) {
		if c := in.Cursor[i]; c <= ' ' || c > '~' {
			return q, portProblem(ErrBadCursor)
		}
	}
	return q, nil
}

func badTime(field, detail string) *Problem {
	p := newProblem(http.StatusBadRequest, wire.BadTime, "%s", detail)
	p.Field = field
	return p
}

// parseTime reads RFC 3339 or unix milliseconds; "" is 0, no bound.
func parseTime(field, s string) (presence.Millis, *Problem) {
	if s == "" {
		return 0, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		switch {
		case n > math.MaxInt64/1_000_000: // beyond what any database keeps as a time
			return 0, badTime(field, field+" is too far ahead")
		case n < int64(wire.MinTime):
			return 0, badTime(field, field+" looks like seconds; send unix milliseconds or RFC 3339")
		}
		return presence.Millis(n), nil
	}
	// A + that was not escaped arrives as a space, and RFC 3339 has none there.
	t, err := time.Parse(time.RFC3339Nano, strings.ReplaceAll(s, " ", "+"))
	if err != nil {
		return 0, badTime(field, field+" is neither RFC 3339 (2026-01-31T12:00:00Z) nor unix milliseconds")
	}
	ms := t.UnixMilli()
	if ms < int64(wire.MinTime) {
		return 0, badTime(field, field+" is before 1973, when there were no fixes")
	}
	return presence.Millis(ms), nil
}
