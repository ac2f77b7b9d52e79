// Package sim is a simulated population: people with homes, friends, phones and
// ways, who talk to a node over real WebSockets by the client rules, and an
// oracle that knows where each of them is and checks what the others are shown.
//
// How it works. A Population is made from a seed (people.go, graph.go). Each
// person walks, drives, rides or stays (walk.go), and a phone reports that with
// jitter, a battery, and now and then a fix that is late, coarse or sent twice
// (phone.go). All of them are moved by one schedule (schedule.go) through
// clients of sdk/go, whose line can be cut or frozen (line.go). The oracle keeps
// what each person reported (track.go) and judges by brute force (oracle.go,
// receipt.go), with geometry of its own (sphere.go).
//
// Invariants:
//
//	M1  The same seed and settings make the same people, friends and ways.
//	M2  What the oracle calls a fault is one whatever order the messages under
//	    way arrive in: a person may be at any position that was reported and is
//	    not surely outdated, and is judged only while surely present.
//	M3  At rest, with everything acknowledged and nothing under way, each pair of
//	    friends is judged by their last positions.
//	M4  The oracle shares no code with the server: not its geometry, not its
//	    frames.
//	M5  Memory is bounded per person: tracks keep the last marksKept reports, the
//	    clients as many as fit in between.
//	M6  Run owns every goroutine and ends them before it returns.
package sim
