package kith

import (
	"context"
	"testing"
)

// FuzzFrame feeds the client what a server might say. It may refuse a frame and
// must go on after it, with a view in which nobody stands under another's name.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		`{"type":"connected","user":"a","session":7,"config":{"radius_m":8047,"exit_radius_m":8449.35,"ping_s":25,"max_frame_bytes":65536}}`,
		`{"type":"friends","v":1,"full":true,"near":[{"user":"b","lat":1,"lng":2,"ts":3,"acc":4.5,"distance_m":5,"entered":true}],"gone":[{"user":"c","reason":"away"}]}`,
		`{"type":"ack","seq":1,"next_s":30}`, `{"type":"ok","id":"1"}`, `{"type":"error","code":"too_many","seq":1,"temporary":true,"id":"1"}`,
		`{"type":"ping"}`, `{"type":"expiring"}`, `{"type":"drain","retry_after_ms":-1}`, `{"type":"request","user":"d"}`,
		`{"type":"friend","user":"d","op":"accepted"}`, `{"type":"?"}`, `[]`, `null`, `{"type":"ack","seq":-1}`, `{"type":"ack","seq":1e99}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := New(Options{Token: func(context.Context) (string, error) { return "t", nil }})
		if _, err := c.Fix(Fix{}); err != nil {
			t.Fatal(err)
		}
		s := &socket{client: c, urgent: make(chan []byte, 8), ready: make(chan struct{})}
		for range 2 {
			_ = s.frame(t.Context(), text)
		}
		for name, friend := range c.View() {
			if name != friend.User {
				t.Fatalf("%q stands under %q", friend.User, name)
			}
		}
		if err := s.frame(t.Context(), []byte(`{"type":"friends","v":18446744073709551615,"full":true,"near":[{"user":"z"}]}`)); err != nil {
			t.Fatal(err)
		}
		if n := c.Stats().Pending; n > 1 {
			t.Fatalf("%d fixes are pending, and one was made", n)
		}
	})
}
