package sqlite

import "context"

// lookup answers for one Append whether rows are in the store, where marks
// cannot tell. It keeps the pack it read last of each run, since rows of a
// device that was away come in order.
type lookup struct {
	db      *DB
	pending *recent // rows of this Append
	packs   map[int64]*seen
}

// seen is the first pack of a run that ends at or after from.
type seen struct {
	from place
	rows []row // none: the run has no such pack
}

// covers says whether the pack is also the first that ends at or after p.
func (s *seen) covers(p place) bool {
	if p.compare(s.from) < 0 {
		return false
	}
	return len(s.rows) == 0 || p.compare(s.rows[len(s.rows)-1].place()) <= 0
}

func newLookup(db *DB, rows []row) *lookup {
	l := &lookup{db: db, pending: newRecent(), packs: make(map[int64]*seen)}
	for i := range rows {
		l.pending.add(&rows[i])
	}
	return l
}

func (l *lookup) known(ctx context.Context, r *row, device uint64) (bool, error) {
	k := r.key()
	hash := k.hash(device)
	if l.pending.find(k, hash) != nil {
		return true, nil
	}
	for _, t := range l.db.history.tables() {
		if t.find(k, hash) != nil {
			return true, nil
		}
	}
	if there, err := l.db.isDisplaced(ctx, k); there || err != nil {
		return there, err
	}
	p := k.place()
	for i := range l.db.history.runs {
		run := &l.db.history.runs[i]
		if !run.span.holds(p.ts) {
			continue
		}
		s, err := l.pack(ctx, run.id, p)
		if err != nil {
			return false, err
		}
		if at := position(s.rows, p); at < len(s.rows) && s.rows[at].place() == p {
			return true, nil
		}
	}
	return false, nil
}

// pack returns the first pack of a run that ends at or after p.
func (l *lookup) pack(ctx context.Context, run int64, p place) (*seen, error) {
	if s := l.packs[run]; s != nil && s.covers(p) {
		return s, nil
	}
	s := &seen{from: p}
	c := packCursor{run: run, from: p}
	for {
		rows, more, err := c.next(ctx, l.db.conn)
		if err != nil {
			return nil, err
		}
		s.rows = rows
		if !more || rows[len(rows)-1].place().compare(p) >= 0 {
			break
		}
	}
	l.packs[run] = s
	return s, nil
}
