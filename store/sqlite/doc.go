// Package sqlite keeps the store in one SQLite file, with a driver in pure Go.
// One process owns the file: it holds a lock beside it (NAME-owner) while open.
// All writes go over one connection under one lock; reads have a small pool of
// their own and see snapshots (WAL), so that neither waits for the other.
//
// Users and friendships are plain tables. History is not, because an index by
// user costs a page of I/O a row once users are many. It is a log-structured
// merge inside SQLite, which gives transactions, recovery and pages:
//
//	log     one entry a commit, rows as they arrived: what makes Append durable
//	recent  the same rows in memory, by user; read again from the log at Open
//	run     what recent became when it was full: packs of rows in order of
//	        (user, ts, device, seq, stamp); eight runs of a level become one of the next
//	mark    per hash of (user, device) an upper bound of stamps: a row above it is
//	        provably new without a look-up
//	displaced  keys of the few rows whose stamp is not their ts
//
// One goroutine, the keeper, writes runs, merges them and deletes what is
// merged, in steps of a few milliseconds between commits. Another, the eraser,
// removes what erased users left.
//
// Invariants, besides those of package store:
//
//	Q1  A row is in exactly one of recent and the live runs.
//	Q2  recent = the log entries above log_floor, minus rows that were removed.
//	Q3  For each row in recent or a live run, marks at its hash ≥ its stamp; the
//	    stored marks cover all rows that are in no log entry above log_floor.
//	Q4  Packs of a run are in order, and so are rows in a pack; no row is in two.
//	Q5  No row of a user who does not exist is written into a run.
//	Q6  The writer lock is held for one step at a time, of at most stepRows rows.
//	Q7  Every row in recent or a live run whose stamp is not its ts is in displaced.
package sqlite
