package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/store"
)

// edgeErrors is what the gateway calls each error of the store.
var edgeErrors = []struct{ store, gateway error }{
	{store.ErrNotFound, gateway.ErrNotFound},
	{store.ErrSelf, gateway.ErrSelf},
	{store.ErrTooMany, gateway.ErrTooMany},
	{store.ErrUnavailable, gateway.ErrUnavailable},
	{store.ErrCursor, gateway.ErrBadCursor},
	{context.DeadlineExceeded, gateway.ErrUnavailable},
}

// edge gives an error of the store the gateway's name.
func edge(err error) error {
	if err == nil {
		return nil
	}
	for _, e := range edgeErrors {
		if errors.Is(err, e.store) {
			return fmt.Errorf("%w: %w", e.gateway, err)
		}
	}
	return err
}

// refusal reports whether err says for sure that nothing was written.
func refusal(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrSelf) || errors.Is(err, store.ErrTooMany)
}
