package gateway

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

type asyncSchema struct {
	Ref        string `yaml:"$ref"`
	Const      any    `yaml:"const"`
	Enum       []string
	Required   []string
	Properties map[string]asyncSchema
	Items      *asyncSchema
	Examples   []any
}

type asyncRef struct {
	Ref string `yaml:"$ref"`
}

type asyncAPI struct {
	AsyncAPI   string `yaml:"asyncapi"`
	Channels   map[string]struct{ Messages map[string]asyncRef }
	Operations map[string]struct{ Messages []asyncRef }
	Components struct {
		Messages map[string]struct{ Payload asyncSchema }
		Schemas  map[string]asyncSchema
	}
	CloseCodes map[int]string `yaml:"x-close-codes"`
}

func loadAsyncAPI(t *testing.T) *asyncAPI {
	t.Helper()
	raw, err := os.ReadFile("../docs/asyncapi.yaml")
	require.NoError(t, err)
	var doc asyncAPI
	require.NoError(t, yaml.Unmarshal(raw, &doc))
	require.Equal(t, "3.0.0", doc.AsyncAPI)
	var whole map[string]any
	require.NoError(t, yaml.Unmarshal(raw, &whole))
	for _, ref := range regexp.MustCompile(`'#/([^']+)'`).FindAllStringSubmatch(string(raw), -1) {
		at := any(whole)
		for _, step := range strings.Split(ref[1], "/") {
			m, ok := at.(map[string]any)
			require.True(t, ok && m[step] != nil, "%s leads nowhere", ref[1])
			at = m[step]
		}
	}
	return &doc
}

// resolve follows a $ref into the schemas.
func (d *asyncAPI) resolve(s asyncSchema) asyncSchema {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return d.Components.Schemas[name]
	}
	return s
}

// messages are the payloads of an operation, by name of the message.
func (d *asyncAPI) messages(operation string) map[string]asyncSchema {
	out := map[string]asyncSchema{}
	for _, ref := range d.Operations[operation].Messages {
		name := strings.TrimPrefix(ref.Ref, "#/channels/socket/messages/")
		out[name] = d.Components.Messages[name].Payload
	}
	return out
}

// sample is a message with every member that the schema has.
func (d *asyncAPI) sample(t *testing.T, s asyncSchema) map[string]any {
	out := map[string]any{}
	for name, p := range s.Properties {
		p = d.resolve(p)
		if p.Const != nil {
			out[name] = p.Const
			continue
		}
		require.NotEmpty(t, p.Examples, "%s has no example", name)
		out[name] = p.Examples[0]
	}
	return out
}

func decodes(t *testing.T, message map[string]any) (wire.Frame, *wire.Error) {
	t.Helper()
	b, err := json.Marshal(message)
	require.NoError(t, err)
	var f wire.Frame
	bad := wire.Decode(b, &f)
	if bad == nil && f.Type == wire.Fix {
		_, bad = wire.Checker{Now: trackerNow, SeqRequired: true}.Fix(&f.Fix)
	}
	return f, bad
}

func TestHT8_AsyncAPIClientMessagesAreWhatTheWireReads(t *testing.T) {
	doc := loadAsyncAPI(t)
	documented := doc.messages("fromClient")
	for typ := wire.NoType + 1; typ < wire.Types; typ++ {
		require.Contains(t, documented, typ.String())
	}
	require.Len(t, documented, int(wire.Types)-1)
	for name, s := range documented {
		sample := doc.sample(t, s)
		require.Equal(t, name, sample["type"])
		f, bad := decodes(t, sample)
		require.Nil(t, bad, name)
		require.Equal(t, name, f.Type.String())
		for member := range sample {
			less := maps.Clone(sample)
			delete(less, member)
			_, bad := decodes(t, less)
			require.Equal(t, slices.Contains(s.Required, member), bad != nil, "%s without %s", name, member)
			if name == "pong" || name == "room" && member == "room" {
				continue
			}
			wrong := maps.Clone(sample)
			wrong[member] = map[string]any{"no": "value"}
			_, bad = decodes(t, wrong)
			require.NotNil(t, bad, "the wire does not look at %s of %s", member, name)
		}
		for member, p := range s.Properties {
			for _, value := range p.Enum {
				sample[member] = value
				_, bad := decodes(t, sample)
				require.Nil(t, bad, "%s %s %s", name, member, value)
			}
		}
	}
}

// serverFrames are frames of each kind, as full and as empty as they can be.
func serverFrames() map[string][2][]byte {
	u := presence.Unset()
	near := func(measured float32, entered bool) []presence.Near {
		return []presence.Near{{Position: &presence.Position{User: "bob", Accuracy: measured, Speed: measured, Heading: measured, Battery: measured}, Entered: entered}}
	}
	gone := []presence.Gone{{User: "bob"}}
	both := func(b []byte) [2][]byte { return [2][]byte{b, b} }
	full := wire.NewError(wire.BadField, "lat", "")
	full.ID, full.Seq, full.HasSeq = "q1", 7, true
	return map[string][2][]byte{
		"connected":     {wire.AppendConnected(nil, &wire.Connected{ID: "q1", User: "ann", Node: "n1"}), wire.AppendConnected(nil, &wire.Connected{User: "ann"})},
		"friends":       {wire.AppendFriends(nil, 1, true, near(0.5, true), gone), wire.AppendFriends(nil, 1, false, near(u, false), gone)},
		"ack":           both(wire.AppendAck(nil, 7, 30)),
		"ok":            {wire.AppendOK(nil, "q1"), wire.AppendOK(nil, "")},
		"error":         {wire.AppendError(nil, full), wire.AppendError(nil, wire.NewError(wire.Internal, "", ""))},
		"request":       both(wire.AppendNotice(nil, presence.Notice{Kind: presence.Requested, User: "bob"})),
		"friendChanged": both(wire.AppendNotice(nil, presence.Notice{Kind: presence.Removed, User: "bob"})),
		"expiring":      both(wire.AppendExpiring(nil)),
		"ping":          both(wire.AppendPing(nil)),
		"drain":         both(wire.AppendDrain(nil, 500, "draining")),
	}
}

func TestHT8_AsyncAPIServerMessagesAreWhatTheWireWrites(t *testing.T) {
	doc := loadAsyncAPI(t)
	documented, frames := doc.messages("toClient"), serverFrames()
	require.ElementsMatch(t, slices.Collect(maps.Keys(frames)), slices.Collect(maps.Keys(documented)))
	for name, frame := range frames {
		var most, least map[string]any
		require.NoError(t, json.Unmarshal(frame[0], &most))
		require.NoError(t, json.Unmarshal(frame[1], &least))
		doc.compare(t, name, documented[name], most, least)
	}
}

// compare requires that s has the members of most, and requires those of least.
func (d *asyncAPI) compare(t *testing.T, name string, s asyncSchema, most, least map[string]any) {
	t.Helper()
	require.ElementsMatch(t, slices.Collect(maps.Keys(most)), slices.Collect(maps.Keys(s.Properties)), name)
	require.ElementsMatch(t, slices.Collect(maps.Keys(least)), s.Required, name)
	for member, p := range s.Properties {
		p = d.resolve(p)
		switch {
		case p.Const != nil:
			require.Equal(t, p.Const, most[member])
		case p.Enum != nil:
			require.Contains(t, p.Enum, most[member])
		case p.Items != nil:
			item := func(of map[string]any) map[string]any { return of[member].([]any)[0].(map[string]any) }
			d.compare(t, name+"."+member, d.resolve(*p.Items), item(most), item(least))
		case p.Properties != nil:
			d.compare(t, name+"."+member, p, most[member].(map[string]any), least[member].(map[string]any))
		}
	}
}

func TestHT8_AsyncAPITables(t *testing.T) {
	doc := loadAsyncAPI(t)
	var codes []string
	for _, c := range wire.Codes() {
		codes = append(codes, c.String())
	}
	require.Equal(t, codes, doc.Components.Messages["error"].Payload.Properties["code"].Enum)
	var reasons []string
	for _, r := range presence.Reasons() {
		reasons = append(reasons, r.String())
	}
	require.Equal(t, reasons, doc.Components.Schemas["gone"].Properties["reason"].Enum)
	closes := map[int]string{}
	for _, code := range wire.CloseCodes() {
		info, ok := wire.CloseInfo(code)
		require.True(t, ok)
		closes[int(code)] = info.Name
	}
	require.Equal(t, closes, doc.CloseCodes)
	for name := range doc.Channels["socket"].Messages {
		require.Contains(t, doc.Components.Messages, name)
	}
	require.Len(t, doc.Components.Messages, len(doc.Channels["socket"].Messages))
}
