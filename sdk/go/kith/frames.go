package kith

// The frames, as PROTOCOL.md has them. They are spelt here on their own, and not
// taken from the server's code, so that the two check each other.

// Fix is one position report. Fields that are nil are not sent.
type Fix struct {
	Lat      float64  `json:"lat"` // degrees
	Lng      float64  `json:"lng"`
	Seq      uint64   `json:"seq"` // set by the Client
	TS       int64    `json:"ts"`  // unix milliseconds; 0 = now
	Accuracy *float64 `json:"acc,omitempty"`
	Altitude *float64 `json:"alt,omitempty"`
	Speed    *float64 `json:"speed,omitempty"`
	Heading  *float64 `json:"heading,omitempty"`
	Battery  *float64 `json:"battery,omitempty"`
	Mock     bool     `json:"mock,omitempty"`
}

// Friend is one friend who is near.
type Friend struct {
	User      string   `json:"user"`
	Lat       float64  `json:"lat"`
	Lng       float64  `json:"lng"`
	TS        int64    `json:"ts"`
	Accuracy  *float64 `json:"acc"`
	DistanceM float64  `json:"distance_m"`
	Bearing   float64  `json:"bearing_deg"`
	Speed     *float64 `json:"speed"`
	Heading   *float64 `json:"heading"`
	Battery   *float64 `json:"battery"`
	State     string   `json:"state"`     // live, idle
	Precision string   `json:"precision"` // exact, area
	Entered   bool     `json:"entered"`   // true only on the transition
}

// Gone is one friend who has left the view.
type Gone struct {
	User   string `json:"user"`
	Reason string `json:"reason"` // away, stale, offline, hidden, unfriended
}

// Friends is a change of the view.
type Friends struct {
	V    uint64   `json:"v"`
	Full bool     `json:"full"`
	Near []Friend `json:"near"`
	Gone []Gone   `json:"gone"`
}

// Connected is the server's answer to a connect.
type Connected struct {
	User    string `json:"user"`
	Node    string `json:"node"`
	Session uint64 `json:"session"`
	Now     int64  `json:"now"`
	Config  struct {
		RadiusM       float64 `json:"radius_m"`
		ExitRadiusM   float64 `json:"exit_radius_m"`
		FixS          float64 `json:"fix_s"`
		StaleS        float64 `json:"stale_s"`
		PingS         float64 `json:"ping_s"`
		MaxFrameBytes int     `json:"max_frame_bytes"`
	} `json:"config"`
}

// ServerError is an `error` frame.
type ServerError struct {
	Code      string  `json:"code"`
	Message   string  `json:"message"`
	Field     string  `json:"field"`
	ID        string  `json:"id"`
	Seq       *uint64 `json:"seq"`
	Temporary bool    `json:"temporary"`
}

func (e *ServerError) Error() string { return "the server says " + e.Code + ": " + e.Message }

// Notice is a `request` or `friend` frame.
type Notice struct {
	User string `json:"user"`
	Op   string `json:"op"` // requested, accepted, removed
}

// Ack says that every fix of this device up to and including Seq is kept, or was
// refused with an error.
type Ack struct {
	Seq   uint64  `json:"seq"`
	NextS float64 `json:"next_s"` // seconds; when the server would like the next fix, 0 = it does not say
}

type drain struct {
	RetryAfterMS int64 `json:"retry_after_ms"`
}
