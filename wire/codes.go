package wire

import (
	"fmt"

	"github.com/kith-nearby/kith/presence"
)

// Code says what kind of error a client made or met. The zero Code is no error.
type Code uint8

// The error codes. codeTable has their names and sentences.
const (
	NoError Code = iota
	BadJSON
	UnknownType
	NotConnected
	Unauthorized
	Forbidden
	BadField
	BadCoordinate
	BadTime
	TooMany
	TooLarge
	NotFound
	Conflict
	Unavailable
	Internal
)

// CodeInfo describes an error code or a close code.
type CodeInfo struct {
	Name     string
	Sentence string // what a person can do, if the place of the error says nothing better
	Anchor   string // of its description in the protocol document
}

var codeTable = [...]CodeInfo{
	NoError:       {},
	BadJSON:       {"bad_json", "Send each frame as one JSON object without repeated names.", "error-bad-json"},
	UnknownType:   {"unknown_type", "This type of message is not known here; see the list of messages.", "error-unknown-type"},
	NotConnected:  {"not_connected", "Send connect first.", "error-not-connected"},
	Unauthorized:  {"unauthorized", "The token is not accepted; get a new one.", "error-unauthorized"},
	Forbidden:     {"forbidden", "This is not allowed for this user.", "error-forbidden"},
	BadField:      {"bad_field", "A field is missing or holds what it cannot hold.", "error-bad-field"},
	BadCoordinate: {"bad_coordinate", "Latitude goes from -90 to 90 and longitude from -180 to 180 degrees.", "error-bad-coordinate"},
	BadTime:       {"bad_time", "Times are unix milliseconds, at most a day ahead.", "error-bad-time"},
	TooMany:       {"too_many", "This came too often; wait a little and send it again.", "error-too-many"},
	TooLarge:      {"too_large", "This is larger than what is taken at once; send it in parts.", "error-too-large"},
	NotFound:      {"not_found", "There is no such thing, or not for this user.", "error-not-found"},
	Conflict:      {"conflict", "This contradicts what is there already.", "error-conflict"},
	Unavailable:   {"unavailable", "This cannot be done at the moment; try again later.", "error-unavailable"},
	Internal:      {"internal", "Something went wrong in the server; try again later.", "error-internal"},
}

// Codes lists every error code.
func Codes() []Code {
	all := make([]Code, 0, len(codeTable)-1)
	for c := BadJSON; int(c) < len(codeTable); c++ {
		all = append(all, c)
	}
	return all
}

// String is the code as clients see it.
func (c Code) String() string { return codeTable[c].Name }

// Info describes the code.
func (c Code) Info() CodeInfo { return codeTable[c] }

// Temporary reports whether the same message may succeed later.
func (c Code) Temporary() bool { return c == TooMany || c == Unavailable || c == Internal }

// Error is an error as a client sees it. It never holds a position.
type Error struct {
	Code      Code
	Message   string // a sentence a person can act on
	Field     string // the field at fault, "" = none
	ID        string // of the message that failed, "" = it had none
	Seq       uint64 // of the fix that failed, if HasSeq
	HasSeq    bool
	Temporary bool // the same may succeed later
}

// Error gives code, field and sentence.
func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s (%s): %s", e.Code, e.Field, e.Message)
}

// NewError returns an error with the given sentence, or the code's own for "".
func NewError(code Code, field, sentence string) *Error {
	if sentence == "" {
		sentence = codeTable[code].Sentence
	}
	return &Error{Code: code, Field: field, Message: sentence, Temporary: code.Temporary()}
}

// The standard close codes that Kith sends (RFC 6455, 7.4.1).
const (
	CloseNormal   presence.CloseCode = 1000
	CloseProtocol presence.CloseCode = 1002
	CloseUTF8     presence.CloseCode = 1007
	CloseTooBig   presence.CloseCode = 1009
)

type closeRow struct {
	Code presence.CloseCode
	CodeInfo
}

var closeTable = []closeRow{
	{CloseNormal, CodeInfo{"normal", "Closed as asked.", "close-1000"}},
	{CloseProtocol, CodeInfo{"broken_framing", "The WebSocket frames are not as RFC 6455 says.", "close-1002"}},
	{CloseUTF8, CodeInfo{"bad_utf8", "A text frame is not valid UTF-8.", "close-1007"}},
	{CloseTooBig, CodeInfo{"too_big", "The message is larger than max_frame_bytes; send it in parts.", "close-1009"}},
	{presence.BadRequest, CodeInfo{"bad_request", "Send JSON objects in text frames.", "close-4000"}},
	{presence.Unauthorized, CodeInfo{"unauthorized", "The token is not accepted; get a new one before connecting again.", "close-4001"}},
	{presence.TokenExpired, CodeInfo{"token_expired", "The token has ended; get a new one before connecting again.", "close-4002"}},
	{presence.Replaced, CodeInfo{"replaced", "The same device has connected again.", "close-4003"}},
	{presence.ConnectTimeout, CodeInfo{"connect_timeout", "No connect message came in time.", "close-4004"}},
	{presence.RateLimited, CodeInfo{"rate_limited", "Too many messages for too long; send fewer.", "close-4005"}},
	{presence.Draining, CodeInfo{"draining", "This node is going away; connect again after retry_after_ms.", "close-4100"}},
	{presence.Slow, CodeInfo{"slow", "Nothing was read for too long; connect again.", "close-4101"}},
	{presence.NoPong, CodeInfo{"no_pong", "No answer to a ping; connect again.", "close-4102"}},
	{presence.Internal, CodeInfo{"internal", "Something went wrong in the server; connect again.", "close-4103"}},
	{presence.Overloaded, CodeInfo{"overloaded", "The server cannot serve this at the moment; connect again later.", "close-4104"}},
	{presence.Moved, CodeInfo{"moved", "The user is served elsewhere now; connect again at once.", "close-4200"}},
}

// CloseCodes lists every close code that Kith sends.
func CloseCodes() []presence.CloseCode {
	all := make([]presence.CloseCode, len(closeTable))
	for i, row := range closeTable {
		all[i] = row.Code
	}
	return all
}

// CloseInfo describes a close code; ok is false for one that Kith never sends.
func CloseInfo(code presence.CloseCode) (info CodeInfo, ok bool) {
	for _, row := range closeTable {
		if row.Code == code {
			return row.CodeInfo, true
		}
	}
	return CodeInfo{}, false
}
