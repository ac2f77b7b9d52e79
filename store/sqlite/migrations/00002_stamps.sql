-- +goose Up

-- Rows of history that stand at another time than the one that names them; see
-- displaced.go. ts is where they stand.
CREATE TABLE displaced (
    user   INTEGER NOT NULL,
    stamp  INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    device TEXT    NOT NULL,
    ts     INTEGER NOT NULL,
    PRIMARY KEY (user, stamp, seq, device)
) WITHOUT ROWID;
CREATE INDEX displaced_age ON displaced (ts);

-- By which name somebody can ask how far an erase is; gone with its end.
ALTER TABLE erasing ADD COLUMN public TEXT NOT NULL DEFAULT '';

-- +goose Down
DROP TABLE displaced;
ALTER TABLE erasing DROP COLUMN public;
