package config

import (
	"fmt"
	"log/slog"
	"net/url"
)

// Secret is a value that only Reveal gives away: whatever verb prints it, a
// mask comes out.
type Secret string

const mask = "********"

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) masked() string {
	if s == "" {
		return ""
	}
	return mask
}

// Format masks the secret for every verb of fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.masked())) }

// LogValue masks the secret in slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.masked()) }

// MarshalText masks the secret in JSON and other encodings.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.masked()), nil }

// redacted hides the password that a URL may carry.
func redacted(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return mask
	}
	return u.Redacted()
}
