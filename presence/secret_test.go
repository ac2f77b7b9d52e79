package presence

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/geo"
)

func readSource(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(b)
}

// secret is a place whose digits nothing else in these values has.
func secret(t *testing.T) geo.Point {
	t.Helper()
	p, err := geo.FromDegrees(37.5665432, 126.9780987)
	require.NoError(t, err)
	return p
}

// requireHidden fails if text shows part of a coordinate, in degrees or units,
// decimal or hexadecimal.
func requireHidden(t *testing.T, text string) {
	t.Helper()
	for _, digits := range []string{"37.5", "3756", "126.9", "1269", "5665", "9780", "1664528", "4bafc"} {
		require.NotContains(t, strings.ToLower(text), digits)
	}
}

func TestPosition_is_never_printed(t *testing.T) {
	at := secret(t)
	fix := Fix{At: at, Seq: 1, TS: 1_000, Accuracy: Unset()}
	batch := Batch{User: 8, Device: "d", Fixes: []Fix{fix, fix}}
	// Encoded stays empty: what it points to would be printed as an address.
	position := &Position{User: "bo", At: at, TS: 1_000, Accuracy: 5}
	near := Near{Position: position, Distance: 12, Bearing: 90}
	change := Change{Full: true, Near: []Near{near}, Gone: []Gone{{"cy", Away}}}
	values := map[string]any{
		"Fix": fix, "*Fix": &fix, "Batch": batch, "*Batch": &batch, "[]*Batch": []*Batch{&batch},
		"[]*Fix": []*Fix{&fix}, "map": map[string]*Fix{"k": &fix}, "[]*Near": []*Near{&near}, "[]*Change": []*Change{&change},
		"*Position": position, "Near": near, "*Near": &near, "Change": change, "*Change": &change,
	}
	for name, value := range values {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
				requireHidden(t, fmt.Sprintf(verb, value))
			}
		})
	}
	require.Equal(t, "[batch(user=8 device=\"d\" fixes=2 last=1)]", fmt.Sprint([]*Batch{&batch}))
	require.Equal(t, "[fix(seq=1 ts=1000)]", fmt.Sprint([]Fix{fix}))
	require.Equal(t, "position(user=bo live exact)", fmt.Sprint(position))
	require.Equal(t, "batch(nil) position(nil)", fmt.Sprintf("%v %v", (*Batch)(nil), (*Position)(nil)))
	// A Position cannot be passed by value, but its fields can be reached.
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		requireHidden(t, fmt.Sprintf(verb, struct{ P *Position }{position}))
		requireHidden(t, fmt.Sprintf(verb, position.At))
	}
}

func TestPosition_is_never_logged(t *testing.T) {
	fix := Fix{At: secret(t), Seq: 1, TS: 1_000}
	batch := Batch{User: 8, Device: "d", Fixes: []Fix{fix}}
	change := Change{Near: []Near{{Position: &Position{User: "bo", At: fix.At}}}}
	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
		log := slog.New(handler)
		for _, value := range []any{fix, &fix, batch, &batch, change, &change, fix.At} {
			log.Info("a stray value", "value", value)
		}
	}
	// The time and the message show that the lines were written.
	require.Equal(t, 14, strings.Count(out.String(), "a stray value"))
	for line := range strings.Lines(out.String()) {
		_, value, _ := strings.Cut(line, "a stray value")
		requireHidden(t, value)
	}
}
