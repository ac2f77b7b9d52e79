package gateway

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-nearby/kith/wire"
)

const problemType = "application/problem+json"

// Problem is every error of the HTTP API: RFC 9457 with a code of PROTOCOL.md.
// It holds nothing of the request but the name of a field.
type Problem struct {
	Title  string `json:"title" example:"Bad Request" doc:"The HTTP status in words"`
	Status int    `json:"status" example:"400" doc:"The HTTP status"`
	Code   string `json:"code" enum:"bad_json,bad_field,bad_coordinate,bad_time,unauthorized,forbidden,not_found,conflict,too_many,too_large,unavailable,internal" doc:"What is wrong, for programs"`
	Detail string `json:"detail" example:"limit is from 1 to 10000" doc:"What is wrong and what to do, for people"`
	Field  string `json:"field,omitempty" example:"limit" doc:"The field, parameter or header at fault, if one is"`

	header http.Header
}

func newProblem(status int, code wire.Code, format string, args ...any) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Code: code.String(), Detail: fmt.Sprintf(format, args...)}
}

func badField(field, format string, args ...any) *Problem {
	p := newProblem(http.StatusBadRequest, wire.BadField, format, args...)
	p.Field = field
	return p
}

func (p *Problem) with(header, value string) *Problem {
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(header, value)
	return p
}

// retryAfter sets the header in whole seconds, rounded up and at least 1.
func (p *Problem) retryAfter(d time.Duration) *Problem {
	return p.with("Retry-After", strconv.Itoa(max(1, int(math.Ceil(d.Seconds())))))
}

func (p *Problem) Error() string { return p.Detail }

// GetStatus makes a Problem a huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders makes a Problem a huma.HeadersError.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType is called by huma with the negotiated type.
func (p *Problem) ContentType(string) string { return problemType }

// write sends p outside of huma.
func (p *Problem) write(w http.ResponseWriter) {
	for k, v := range p.header {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = json.MarshalWrite(w, p) // the client is gone if this fails
}

// statuses are the HTTP statuses of the error codes.
var statuses = map[wire.Code]int{
	wire.BadJSON:       http.StatusBadRequest,
	wire.BadField:      http.StatusBadRequest,
	wire.BadCoordinate: http.StatusBadRequest,
	wire.BadTime:       http.StatusBadRequest,
	wire.Unauthorized:  http.StatusUnauthorized,
	wire.Forbidden:     http.StatusForbidden,
	wire.NotFound:      http.StatusNotFound,
	wire.Conflict:      http.StatusConflict,
	wire.TooMany:       http.StatusTooManyRequests,
	wire.TooLarge:      http.StatusRequestEntityTooLarge,
	wire.Unavailable:   http.StatusServiceUnavailable,
	wire.Internal:      http.StatusInternalServerError,
}

// wireProblem is an error of the wire as HTTP says it.
func wireProblem(e *wire.Error) *Problem {
	p := newProblem(statuses[e.Code], e.Code, "%s", e.Message)
	p.Field = e.Field
	if e.Code == wire.Unavailable {
		p.retryAfter(time.Second)
	}
	return p
}

// portProblem is what a port returned as HTTP says it. The text of an error
// that is not known stays inside.
func portProblem(err error) *Problem {
	switch {
	case errors.Is(err, ErrBadCursor):
		return badField("cursor", "the cursor is not one that this query gave; start again without it")
	case errors.Is(err, ErrSelf):
		return badField("b", "the two users are the same; a user cannot be their own friend")
	case errors.Is(err, ErrTooMany): // not 429: waiting does not help
		return newProblem(http.StatusConflict, wire.TooMany, "one of the two users can have no more friends")
	}
	return wireProblem(portError(err))
}

// fail is portProblem for a call that ends with it. What it hides it logs.
func (p *publicAPI) fail(err error) *Problem {
	problem := portProblem(err)
	if problem.Status == http.StatusInternalServerError {
		p.log.Error("a call failed", "err", err)
	}
	return problem
}

func internal() *Problem {
	return wireProblem(wire.NewError(wire.Internal, "", ""))
}

func unavailable(detail string) *Problem {
	return wireProblem(wire.NewError(wire.Unavailable, "", detail))
}

// huma keeps the constructor of its own errors, and whether a list may be null,
// in package variables. Nothing else in this process uses huma.
func init() {
	huma.NewError = humaProblem
	huma.DefaultArrayNullable = false
}

// humaProblem translates the errors that huma itself finds: parameters and
// bodies that do not fit their schema.
func humaProblem(status int, msg string, errs ...error) huma.StatusError {
	for _, err := range errs {
		if p := (*Problem)(nil); errors.As(err, &p) {
			return p
		}
	}
	switch status {
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		return invalid(status, msg, errs)
	case http.StatusRequestEntityTooLarge:
		return tooLarge()
	case http.StatusRequestTimeout:
		return newProblem(status, wire.Unavailable, "the body did not arrive in time; send it again")
	case http.StatusUnsupportedMediaType:
		return wrongType()
	case 0: // asked for its schema
		return &Problem{}
	}
	return internal()
}

func invalid(status int, msg string, errs []error) *Problem {
	for _, err := range errs {
		d, ok := err.(huma.ErrorDetailer)
		if !ok {
			continue
		}
		detail := d.ErrorDetail()
		if status == http.StatusBadRequest && detail.Location == "body" {
			return newProblem(http.StatusBadRequest, wire.BadJSON, "%s", detail.Message)
		}
		_, field, inside := strings.Cut(detail.Location, ".")
		if !inside {
			field = detail.Location
		}
		return badField(field, "%s: %s", field, detail.Message)
	}
	return newProblem(http.StatusBadRequest, wire.BadJSON, "%s", msg)
}

func tooLarge() *Problem {
	return newProblem(http.StatusRequestEntityTooLarge, wire.TooLarge, "the body is too large; send it in parts")
}

func wrongType() *Problem {
	p := newProblem(http.StatusUnsupportedMediaType, wire.BadField, "the body must be JSON; send it with Content-Type: application/json")
	p.Field = "Content-Type"
	return p
}

// jsonFormat is strict: duplicate names, invalid UTF-8, NaN and what follows
// the value are faults. Its errors are sentences for clients and hold nothing
// of what was sent.
var jsonFormat = huma.Format{
	Marshal: huma.DefaultJSONFormat.Marshal,
	Unmarshal: func(data []byte, v any) error {
		err := json.Unmarshal(data, v)
		if err == nil {
			return nil
		}
		return errors.New(explainJSON(err))
	},
}

// badBody is the problem of a body that is not a JSON object.
func badBody(err error) *Problem {
	if err == nil {
		return newProblem(http.StatusBadRequest, wire.BadJSON, "the body is not a JSON object")
	}
	return newProblem(http.StatusBadRequest, wire.BadJSON, "%s", explainJSON(err))
}

func explainJSON(err error) string {
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "the body is not valid JSON: an object has the same name twice"
	case errors.As(err, &syntactic):
		return fmt.Sprintf("the body is not valid JSON: see byte %d", syntactic.ByteOffset)
	}
	return "the body has a value of the wrong type"
}
