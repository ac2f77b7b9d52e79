package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/kith-nearby/kith/store"
)

// Errors of Open.
var (
	ErrLocked = errors.New("another process uses this database: stop it, or set store.url to another file")
	ErrNotDB  = errors.New("this file is not an SQLite database: set store.url to another file, or move this one away")
	ErrNewer  = errors.New("this database was written by a newer version of Kith: use that version")
	ErrFull   = errors.New("the disk is full: free some space, or set store.url to a file on another disk")
	ErrAccess = errors.New("the file cannot be opened for writing: check that its folder exists and that this user may write there")
)

// primary returns the primary SQLite result code in err, or SQLITE_OK.
func primary(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code() & 0xff
	}
	return sqlite3.SQLITE_OK
}

// mapped turns what the driver says into the words of package store. The
// driver's text stays, since it names no values.
func mapped(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	switch primary(err) {
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, ErrFull, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	case sqlite3.SQLITE_INTERRUPT:
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if errors.Is(err, sql.ErrConnDone) || errors.Is(err, errClosed) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, errClosed)
	}
	return err
}

var errClosed = errors.New("sqlite: the store is closed")

// opening explains an error of Open to the person who starts the node.
func opening(path string, err error) error {
	if err == nil {
		return nil
	}
	why := error(nil)
	switch primary(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		why = ErrLocked
	case sqlite3.SQLITE_NOTADB:
		why = ErrNotDB
	case sqlite3.SQLITE_FULL:
		why = ErrFull
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		why = ErrAccess
	}
	if why != nil {
		return fmt.Errorf("open store %s: %w (%w)", path, why, err)
	}
	return fmt.Errorf("open store %s: %w", path, err)
}
