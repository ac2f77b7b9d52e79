package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
)

// What PROTOCOL.md lists.
const protocolErrors = `bad_json unknown_type not_connected unauthorized forbidden bad_field bad_coordinate
	bad_time too_many too_large not_found conflict unavailable internal`

var protocolCloses = map[presence.CloseCode]string{
	4000: "bad_request", 4001: "unauthorized", 4002: "token_expired", 4003: "replaced", 4004: "connect_timeout",
	4005: "rate_limited", 4100: "draining", 4101: "slow", 4102: "no_pong", 4103: "internal", 4104: "overloaded",
	4200: "moved",
}

func TestW7_ErrorCodesAreUniqueAndComplete(t *testing.T) {
	want := strings.Fields(protocolErrors)
	anchors := map[string]bool{}
	got := make([]string, 0, len(want))
	for _, c := range Codes() {
		info := c.Info()
		got = append(got, c.String())
		require.Equal(t, info.Name, c.String())
		require.True(t, strings.HasSuffix(info.Sentence, "."), info.Sentence)
		require.NotEmpty(t, info.Anchor)
		require.False(t, anchors[info.Anchor], info.Anchor)
		anchors[info.Anchor] = true
		require.Equal(t, info.Sentence, NewError(c, "", "").Message)
	}
	require.Equal(t, want, got)
}

func TestW7_CloseCodesAreUniqueAndComplete(t *testing.T) {
	anchors, names := map[string]bool{}, map[string]bool{}
	for code, name := range protocolCloses {
		info, ok := CloseInfo(code)
		require.True(t, ok, code)
		require.Equal(t, name, info.Name)
	}
	for _, code := range CloseCodes() {
		info, ok := CloseInfo(code)
		require.True(t, ok)
		require.True(t, strings.HasSuffix(info.Sentence, "."), info.Sentence)
		require.LessOrEqual(t, len(info.Sentence), 123, "must fit into a close frame")
		require.False(t, anchors[info.Anchor] || names[info.Name], info.Name)
		anchors[info.Anchor], names[info.Name] = true, true
		_, private := protocolCloses[code]
		require.Equal(t, code >= 4000, private, code)
	}
	require.Len(t, CloseCodes(), len(protocolCloses)+4) // 1000, 1002, 1007, 1009
	_, ok := CloseInfo(4999)
	require.False(t, ok)
}

// Every close code that presence names stands in the table.
func TestW7_PresenceNamesNoOtherCloseCode(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../presence/close.go", nil, 0)
	require.NoError(t, err)
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		lit, ok := node.(*ast.BasicLit)
		if !ok || lit.Kind != token.INT {
			return true
		}
		code, err := strconv.Atoi(lit.Value)
		require.NoError(t, err)
		require.Contains(t, protocolCloses, presence.CloseCode(code))
		n++
		return true
	})
	require.Equal(t, len(protocolCloses), n)
}

func TestErrorTextHasFieldAndSentence(t *testing.T) {
	require.Equal(t, "bad_field (lat): lat is missing.", NewError(BadField, "lat", "lat is missing.").Error())
	require.Equal(t, "internal: "+Internal.Info().Sentence, NewError(Internal, "", "").Error())
}
