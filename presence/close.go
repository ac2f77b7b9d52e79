package presence

// CloseCode is a WebSocket close code. Its range says what a client should do:
// 4000–4099 do not retry as is, 4100–4199 retry with backoff, 4200–4299 retry
// at once.
type CloseCode uint16

// The close codes.
const (
	BadRequest     CloseCode = 4000
	Unauthorized   CloseCode = 4001
	TokenExpired   CloseCode = 4002
	Replaced       CloseCode = 4003
	ConnectTimeout CloseCode = 4004
	RateLimited    CloseCode = 4005
	Draining       CloseCode = 4100
	Slow           CloseCode = 4101
	NoPong         CloseCode = 4102
	Internal       CloseCode = 4103
	Overloaded     CloseCode = 4104
	Moved          CloseCode = 4200
)
