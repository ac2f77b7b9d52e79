package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"time"
)

// pageSize suits packs of some 10 KiB; it is fixed when a file is created.
const pageSize = 8192

// dsn names the file with the settings that each connection needs.
// secure_delete keeps S6: what is deleted is overwritten, not only unlinked.
func dsn(path string, o Options, write bool) string {
	q := url.Values{}
	pragmas := []string{
		fmt.Sprintf("busy_timeout(%d)", o.BusyTimeout.Milliseconds()),
		fmt.Sprintf("page_size(%d)", pageSize),
		"journal_mode(WAL)",
		"synchronous(" + o.Synchronous + ")",
		"secure_delete(ON)",
		"temp_store(MEMORY)",
		fmt.Sprintf("cache_size(-%d)", o.CacheBytes/1024),
		// If the checkpointer does not get to it, a commit does it after all.
		fmt.Sprintf("wal_autocheckpoint(%d)", 4*restartPages),
	}
	if write {
		q.Set("_txlock", "immediate")
	} else {
		pragmas = append(pragmas, "query_only(ON)")
	}
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	return fileURL(path, q)
}

func fileURL(path string, q url.Values) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

// owner is the lock that makes this process the only one on a database: an
// exclusive transaction, never committed, on an empty file beside it. The
// system ends it with the process, however that ends.
type owner struct {
	db   *sql.DB
	conn *sql.Conn
}

func own(ctx context.Context, path string, patience time.Duration) (*owner, error) {
	q := url.Values{}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()))
	q.Add("_pragma", "journal_mode(MEMORY)")
	db, err := sql.Open("sqlite", fileURL(path+"-owner", q))
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		_, err = conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
	}
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return &owner{db: db, conn: conn}, nil
}

func (o *owner) release() {
	_ = o.conn.Close()
	_ = o.db.Close()
}

// checkHeader finds files that are no database before SQLite writes to them.
// SQLite itself takes any file shorter than its header for an empty database.
func checkHeader(path string) error {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 16)
	n, _ := f.Read(head)
	if n > 0 && string(head[:n]) != "SQLite format 3\x00" {
		return fmt.Errorf("%w", ErrNotDB)
	}
	return nil
}

// connect opens the two pools: one connection that writes, a few that read.
func connect(ctx context.Context, path string, o Options) (write, read *sql.DB, err error) {
	if write, err = sql.Open("sqlite", dsn(path, o, true)); err != nil {
		return nil, nil, err
	}
	write.SetMaxOpenConns(1)
	write.SetMaxIdleConns(1)
	if err = write.PingContext(ctx); err != nil {
		_ = write.Close()
		return nil, nil, err
	}
	if read, err = sql.Open("sqlite", dsn(path, o, false)); err != nil {
		_ = write.Close()
		return nil, nil, err
	}
	read.SetMaxOpenConns(o.Readers)
	read.SetMaxIdleConns(o.Readers)
	return write, read, nil
}
