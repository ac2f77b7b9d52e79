package gateway

import (
	"context"
	"errors"

	"github.com/kith-nearby/kith/wire"
)

// portErrors says what clients see of the errors that ports return. The first
// that matches counts; what is not listed is an internal error.
var portErrors = []struct {
	err      error
	code     wire.Code
	field    string
	sentence string
}{
	{ErrNotFound, wire.NotFound, "", "There is no such user, or nothing to answer."},
	{ErrConflict, wire.Conflict, "", ""},
	{ErrTooMany, wire.TooMany, "", "There can be no more of these; remove some first."},
	{ErrForbidden, wire.Forbidden, "", ""},
	{ErrSelf, wire.BadField, "user", "user is the user of this connection; name another."},
	{ErrUnauthorized, wire.Unauthorized, "token", ""},
	{ErrUnavailable, wire.Unavailable, "", ""},
	{context.DeadlineExceeded, wire.Unavailable, "", "This took too long; try again later."},
	{context.Canceled, wire.Unavailable, "", ""},
}

// portError is the client's view of what a port returned.
func portError(err error) *wire.Error {
	for _, row := range portErrors {
		if errors.Is(err, row.err) {
			e := wire.NewError(row.code, row.field, row.sentence)
			// A port's "too many" is a limit that is reached, which waiting does not cure.
			e.Temporary = e.Temporary && row.code != wire.TooMany
			return e
		}
	}
	return wire.NewError(wire.Internal, "", "")
}
