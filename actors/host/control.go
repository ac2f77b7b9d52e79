package host

import "github.com/kith-nearby/kith/actors"

// control is a delivery that needs more than handing its message to the Core.
// It travels as a message, so that all others need no room for what is rare.
type control struct {
	actors.Message // nil = nothing for the Core

	start       bool       // start the actor if there is none
	incarnation uint32     // only for this one; 0 = for whichever there is
	ask         actors.Ask // a question, which must be answered even if nobody gets it
	alarm       uint32     // a Tick of a lone actor: the number of its timer
	do          func()     // run by the receiver; the Core does not notice
}

// origin names one life of one actor.
type origin struct {
	actors.Address
	incarnation uint32
}

var (
	tick   actors.Message = &actors.Tick{}
	resync actors.Message = &actors.Resync{}
)
