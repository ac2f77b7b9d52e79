package gateway

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// Limits of bodies.
const (
	maxBody       = 64 << 10 // bytes
	maxReportBody = 1 << 20  // bytes
	bodyWithin    = 10 * time.Second
)

// ReportBody is what POST /v1/fixes takes. It only documents: wire reads it.
type ReportBody struct {
	Device string    `json:"device,omitempty" maxLength:"64" default:"default" doc:"1 to 64 printable ASCII characters"`
	Fixes  []FixBody `json:"fixes" minItems:"1" maxItems:"1000" doc:"In any order"`
}

// FixBody is one fix of a report. Optional members may be null. A measurement
// that cannot be true is dropped and the fix kept.
type FixBody struct {
	Lat      float64  `json:"lat" minimum:"-90" maximum:"90" doc:"Degrees"`
	Lng      float64  `json:"lng" minimum:"-180" maximum:"180" doc:"Degrees"`
	Seq      uint64   `json:"seq" maximum:"9007199254740991" doc:"Rising per device"`
	TS       int64    `json:"ts,omitempty" doc:"Unix milliseconds; absent = the server's time. Send it: a fix sent again is known by it"`
	Accuracy *float64 `json:"acc,omitempty" doc:"Metres, radius of 68 %"`
	Altitude *float64 `json:"alt,omitempty" doc:"Metres"`
	Speed    *float64 `json:"speed,omitempty" doc:"m/s"`
	Heading  *float64 `json:"heading,omitempty" doc:"Degrees"`
	Battery  *float64 `json:"battery,omitempty" doc:"0 to 1"`
	Mock     bool     `json:"mock,omitempty" doc:"A program made this position up"`
}

// ReportedBody answers a report.
type ReportedBody struct {
	Accepted int           `json:"accepted" doc:"How many fixes are durable"`
	Refused  []RefusedBody `json:"refused"`
}

// RefusedBody is a fix that is nowhere: not in history and not in a view.
type RefusedBody struct {
	Index   int    `json:"index" doc:"Its place in the request, from 0"`
	Code    string `json:"code" enum:"bad_field,bad_coordinate,bad_time"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message" doc:"What is wrong, for people"`
}

type rawInput struct {
	RawBody []byte `contentType:"application/json"`
}

func (p *publicAPI) registerFixes() {
	huma.Register(p.api, huma.Operation{
		OperationID: "report-fixes", Method: http.MethodPost, Path: "/v1/fixes", Tags: []string{"user"},
		Summary:     "Report up to 1 000 fixes",
		Description: "What is accepted is durable when this answers. Sending the same again changes nothing.",
		Security:    needsUser, Middlewares: huma.Middlewares{p.asUser, jsonBody},
		MaxBodyBytes: bodyLimit(maxReportBody), BodyReadTimeout: bodyWithin, SkipValidateBody: true,
	}, p.reportFixes)
	documentBody(p.api.OpenAPI().Paths["/v1/fixes"].Post, schemaFor[ReportBody](p.api), true)
}

// documentBody says what a body holds that huma passes on unread.
func documentBody(op *huma.Operation, schema *huma.Schema, required bool) {
	op.RequestBody.Required = required
	op.RequestBody.Content["application/json"].Schema = schema
}

func (p *publicAPI) reportFixes(ctx context.Context, in *rawInput) (*struct{ Body ReportedBody }, error) {
	report, bad := wire.DecodeReport(in.RawBody)
	if bad != nil {
		return nil, wireProblem(bad)
	}
	out := &struct{ Body ReportedBody }{ReportedBody{Refused: []RefusedBody{}}}
	check := wire.Checker{Now: presence.Millis(p.cfg.Now().UnixMilli()), SeqRequired: true}
	fixes := make([]presence.Fix, 0, len(report.Fixes))
	for i := range report.Fixes {
		item := &report.Fixes[i]
		bad := item.Err
		if bad == nil {
			var fix presence.Fix
			if fix, bad = check.Fix(&item.Raw); bad == nil {
				fixes = append(fixes, fix)
				continue
			}
		}
		out.Body.Refused = append(out.Body.Refused, RefusedBody{Index: i, Code: bad.Code.String(), Field: bad.Field, Message: bad.Message})
	}
	if err := p.record(ctx, report.Device, fixes); err != nil {
		return nil, err
	}
	out.Body.Accepted = len(fixes)
	return out, nil
}

// record hands the fixes of the caller's device to their actor, in rising Seq,
// and returns once they are durable.
func (p *publicAPI) record(ctx context.Context, device presence.DeviceID, fixes []presence.Fix) error {
	if len(fixes) == 0 {
		return nil
	}
	c, now := callerOf(ctx), p.cfg.Now()
	if wait := spend(c.most.fixes, now, len(fixes)); wait > 0 {
		return tooMany(wait)
	}
	slices.SortStableFunc(fixes, func(a, b presence.Fix) int { return cmp.Compare(a.Seq, b.Seq) })
	waiter := p.ports.Hub.Await()
	defer waiter.Close()
	p.ports.Live.Report(&presence.Batch{
		User: c.id, Device: device, Fixes: fixes, Conn: waiter.ID(), Received: presence.Micros(now.UnixMicro()),
	})
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Durable) // begun here: Report waits too while the node is busy
	defer cancel()
	if waiter.Wait(ctx) != nil {
		return unavailable("the fixes are not known to be durable; send the same again")
	}
	return nil
}
