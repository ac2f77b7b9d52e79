package gateway

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/wire"
)

var rewrite = flag.Bool("rewrite", false, "write what the tests found as what they expect")

const openAPIFile = "../docs/openapi.json"

// TestOpenAPIDocument: go test ./gateway -run OpenAPIDocument -rewrite
func TestHT8_OpenAPIDocument(t *testing.T) {
	b := newBench(t, nil)
	w := b.call("", "GET", openAPIPath, "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "application/openapi+json", w.Header().Get("Content-Type"))
	if *rewrite {
		require.NoError(t, os.WriteFile(openAPIFile, w.Body.Bytes(), 0o644))
	}
	want, err := os.ReadFile(openAPIFile)
	require.NoError(t, err)
	require.Equal(t, string(want), w.Body.String(), "docs/openapi.json is not what the server says; see the comment of this test")
}

type openAPI struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		Summary     string
		Security    []map[string][]string
		Responses   map[string]struct{ Content map[string]any }
		Parameters  []struct{ Name, In string }
	}
	Components struct {
		Schemas         map[string]any
		SecuritySchemes map[string]any
	}
}

func TestHT8_OpenAPIIsComplete(t *testing.T) {
	raw, err := os.ReadFile(openAPIFile)
	require.NoError(t, err)
	var doc openAPI
	require.NoError(t, json.Unmarshal(raw, &doc))
	require.Equal(t, "3.1.0", doc.OpenAPI)

	var described []string
	ids := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			described = append(described, strings.ToUpper(method)+" "+path)
			require.NotEmpty(t, op.Summary)
			require.False(t, ids[op.OperationID], op.OperationID)
			ids[op.OperationID] = true
			require.NotContains(t, op.Responses, "422", "faults of parameters are 400")
			for _, need := range op.Security {
				for scheme := range need {
					require.Contains(t, doc.Components.SecuritySchemes, scheme)
				}
			}
			require.Equal(t, path == healthPath || path == readyPath, len(op.Security) == 0, path)
			var inPath []string
			for _, p := range op.Parameters {
				if p.In == "path" {
					inPath = append(inPath, "{"+p.Name+"}")
				}
			}
			require.ElementsMatch(t, regexp.MustCompile(`\{\w+\}`).FindAllString(path, -1), inPath)
		}
	}
	slices.Sort(described)
	require.Equal(t, []string{ // the tables of PROTOCOL.md
		"DELETE /v1/me", "DELETE /v1/users/{a}/friends/{b}", "DELETE /v1/users/{user}",
		"GET /healthz", "GET /readyz", "GET /v1/history", "GET /v1/nearby", "GET /v1/users/{a}/friends", "GET /v1/users/{user}", "GET /v1/users/{user}/history",
		"POST /owntracks", "POST /v1/fixes", "POST /v1/presence", "PUT /v1/users/{a}/friends/{b}", "PUT /v1/users/{user}",
	}, described)
	for _, ref := range regexp.MustCompile(`"#/components/schemas/(\w+)"`).FindAllSubmatch(raw, -1) {
		require.Contains(t, doc.Components.Schemas, string(ref[1]))
	}
}

func TestHT3_ProblemCodesAreThoseOfTheWire(t *testing.T) {
	raw, err := os.ReadFile(openAPIFile)
	require.NoError(t, err)
	var doc struct {
		Components struct {
			Schemas struct {
				Problem struct {
					Properties struct{ Code struct{ Enum []string } }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	var want []string
	for _, c := range wire.Codes() {
		if c == wire.UnknownType || c == wire.NotConnected { // only a WebSocket has these
			continue
		}
		want = append(want, c.String())
		require.NotZero(t, statuses[c], c)
		require.NotEmpty(t, http.StatusText(statuses[c]))
	}
	require.ElementsMatch(t, want, doc.Components.Schemas.Problem.Properties.Code.Enum)
}
