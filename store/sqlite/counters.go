package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/kith-nearby/kith/store"
)

// Raise implements store.Counters.
func (db *DB) Raise(ctx context.Context, counter store.Counter, n uint64) (uint64, error) {
	if n > math.MaxInt64 {
		return 0, fmt.Errorf("sqlite: counter %s cannot be %d", counter, n)
	}
	var now int64
	err := db.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO counter (name, value) VALUES ('raised-' || ?1, ?2)
			ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value) RETURNING value`, string(counter), int64(n)).Scan(&now)
	})
	return uint64(now), err
}
