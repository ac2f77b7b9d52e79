-- +goose Up

-- AUTOINCREMENT: an id is never given twice, also after an erase (S1).
CREATE TABLE user (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    public    TEXT    NOT NULL UNIQUE,
    created   INTEGER NOT NULL,
    mode      INTEGER NOT NULL DEFAULT 0 CHECK (mode IN (0, 1, 2)),
    until     INTEGER NOT NULL DEFAULT 0,
    then_mode INTEGER NOT NULL DEFAULT 0 CHECK (then_mode IN (0, 1, 2)),
    rev       INTEGER NOT NULL DEFAULT 0
);

-- rev: one sequence for every Rev and AllRev of the store, so that none ever
-- falls, also not over the end and new beginning of a friendship (S3).
-- log_floor: log entries up to this id are in runs as well, and wait to be deleted.
CREATE TABLE counter (
    name  TEXT    PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO counter (name, value) VALUES ('rev', 0), ('log_floor', 0);

-- Two rows a friendship, one for each side (S2); mode, until and then_mode are
-- how user shares with friend.
CREATE TABLE friendship (
    user      INTEGER NOT NULL,
    friend    INTEGER NOT NULL,
    mode      INTEGER NOT NULL DEFAULT 0 CHECK (mode IN (0, 1, 2)),
    until     INTEGER NOT NULL DEFAULT 0,
    then_mode INTEGER NOT NULL DEFAULT 0 CHECK (then_mode IN (0, 1, 2)),
    rev       INTEGER NOT NULL,
    PRIMARY KEY (user, friend)
) WITHOUT ROWID;

-- Who asked whom. id tells which came first.
CREATE TABLE request (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    asker INTEGER NOT NULL,
    asked INTEGER NOT NULL,
    UNIQUE (asker, asked)
);
CREATE INDEX request_asked ON request (asked, id);

CREATE TABLE blocked (
    user  INTEGER NOT NULL,
    other INTEGER NOT NULL,
    PRIMARY KEY (user, other)
) WITHOUT ROWID;
CREATE INDEX blocked_other ON blocked (other, user);

-- Users whose identity is gone and whose history is being removed.
CREATE TABLE erasing (user INTEGER PRIMARY KEY);

-- History as it arrived, one entry a commit; see doc.go.
CREATE TABLE log (
    id     INTEGER PRIMARY KEY,
    rows   INTEGER NOT NULL,
    min_ts INTEGER NOT NULL,
    body   BLOB    NOT NULL
);

-- A run is a sequence of packs in order of (user, ts, device, seq).
CREATE TABLE run (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    level  INTEGER NOT NULL,
    state  INTEGER NOT NULL CHECK (state IN (0, 1, 2)), -- building, live, dropped
    min_ts INTEGER NOT NULL,
    max_ts INTEGER NOT NULL
);

CREATE TABLE pack (
    id         INTEGER PRIMARY KEY,
    run        INTEGER NOT NULL,
    first_user INTEGER NOT NULL,
    last_user  INTEGER NOT NULL,
    last_ts    INTEGER NOT NULL,
    min_ts     INTEGER NOT NULL,
    max_ts     INTEGER NOT NULL,
    rows       INTEGER NOT NULL,
    body       BLOB    NOT NULL
);
CREATE INDEX pack_order ON pack (run, last_user, last_ts);
CREATE INDEX pack_age ON pack (min_ts);

-- An upper bound of ts per hash of (user, device), 8 192 to a row; see marks.go.
CREATE TABLE mark (
    id   INTEGER PRIMARY KEY,
    body BLOB NOT NULL
);

-- +goose Down
DROP TABLE mark;
DROP TABLE pack;
DROP TABLE run;
DROP TABLE log;
DROP TABLE erasing;
DROP TABLE blocked;
DROP TABLE request;
DROP TABLE friendship;
DROP TABLE counter;
DROP TABLE user;
