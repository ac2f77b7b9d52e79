// Package presence is Kith's vocabulary: the words that every other package
// shares, as types. docs/vocabulary.md says the same for people.
//
//	Fix       one position report of one device (lat, lng, time, accuracy…)
//	Still     a report that says "I have not moved"
//	User      a person: a PublicID that clients see, a UserID that the store gives
//	Friend    mutual: both are each other's friend or neither is
//	Session   one continuous presence of a user; a number that only rises
//	Version   orders everything said about a user: session, then count within it
//	Node      a running process; Instance: its name and epoch ("n1#17")
//	Near      a friend who is in a viewer's view; Gone: one who has left it
//	Live      near, last report was a fix; Idle: last report was a still
//	Stale     no fix or still for stale_after; Offline: no session at all
//	Share     how precisely a user lets one friend see them: exact, area, none
//	Ghost     share none with everybody
//	Quiet zone  how far a user may move before a friend must be told
//
// A position is a secret. No type here prints one.
package presence
