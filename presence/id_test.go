package presence

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParsePublicID(t *testing.T) {
	tests := []struct {
		name, in string
		ok       bool
	}{
		{"one letter", "a", true},
		{"every kind of character", "aZ09._~@-", true},
		{"a mail address", "kim.lee@example.org", true},
		{"a digit", "7", true},
		{"64 characters", strings.Repeat("x", 64), true},
		{"empty", "", false},
		{"65 characters", strings.Repeat("x", 65), false},
		{"space", "a b", false},
		{"leading space", " a", false},
		{"colon, which separates keys", "a:b", false},
		{"slash, which separates paths", "a/b", false},
		{"braces, which are a hash tag", "{a}", false},
		{"plus", "a+b", false},
		{"newline", "a\n", false},
		{"zero byte", "a\x00", false},
		{"delete", "a\x7f", false},
		{"letters beyond ASCII", "김", false},
		{"broken UTF-8", "a\xff", false},
		{"star", "*", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParsePublicID(tt.in)
			if !tt.ok {
				require.ErrorIs(t, err, ErrPublicID)
				require.Empty(t, got)
				return
			}
			require.NoError(t, err)
			require.Equal(t, PublicID(tt.in), got)
		})
	}
}

func TestParseDeviceID(t *testing.T) {
	tests := []struct {
		name, in string
		want     DeviceID
		err      error
	}{
		{"none", "", DefaultDevice, nil},
		{"plain", "phone-1", "phone-1", nil},
		{"inner space", "Kim's phone", "Kim's phone", nil},
		{"first and last printable", " ~", " ~", nil},
		{"64 characters", strings.Repeat("d", 64), DeviceID(strings.Repeat("d", 64)), nil},
		{"65 characters", strings.Repeat("d", 65), "", ErrDeviceID},
		{"tab", "a\tb", "", ErrDeviceID},
		{"newline", "a\n", "", ErrDeviceID},
		{"escape", "\x1b[31m", "", ErrDeviceID},
		{"delete", "a\x7f", "", ErrDeviceID},
		{"zero byte", "\x00", "", ErrDeviceID},
		{"beyond ASCII", "전화", "", ErrDeviceID},
		{"broken UTF-8", "\xc3\x28", "", ErrDeviceID},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseDeviceID(tt.in)
			require.ErrorIs(t, err, tt.err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestID_errors_do_not_repeat_what_was_sent(t *testing.T) {
	_, err := ParsePublicID("secret value")
	require.NotContains(t, err.Error(), "secret")
	_, err = ParseDeviceID("secret\tvalue")
	require.NotContains(t, err.Error(), "secret")
}

func TestInstance_String(t *testing.T) {
	require.Equal(t, "n1#17", Instance{Name: "n1", Epoch: 17}.String())
	require.Equal(t, "#0", Instance{}.String())
	require.Equal(t, "n#18446744073709551615", Instance{Name: "n", Epoch: 1<<64 - 1}.String())
}

func FuzzParsePublicID(f *testing.F) {
	for _, seed := range []string{"", "a", "a:b", "김", strings.Repeat("x", 65), "kim.lee@example.org"} {
		f.Add(seed)
	}
	shape := regexp.MustCompile(`\A[A-Za-z0-9._~@-]{1,64}\z`)
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParsePublicID(s)
		if shape.MatchString(s) != (err == nil) {
			t.Fatalf("%q: %v", s, err)
		}
		if err == nil && string(id) != s {
			t.Fatalf("%q became %q", s, id)
		}
	})
}

func FuzzParseDeviceID(f *testing.F) {
	for _, seed := range []string{"", "default", "a\tb", "\x7f", strings.Repeat("x", 65)} {
		f.Add(seed)
	}
	shape := regexp.MustCompile(`\A[ -~]{1,64}\z`)
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseDeviceID(s)
		switch {
		case s == "":
			if id != DefaultDevice || err != nil {
				t.Fatalf("no device became %q (%v)", id, err)
			}
		case shape.MatchString(s):
			if string(id) != s || err != nil {
				t.Fatalf("%q became %q (%v)", s, id, err)
			}
		case !errors.Is(err, ErrDeviceID) || id != "":
			t.Fatalf("%q became %q (%v)", s, id, err)
		}
	})
}
