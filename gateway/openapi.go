package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// APIVersion is the version of the HTTP API that this package serves.
const APIVersion = "1.0.0"

const openAPIPath = "/docs/openapi.json"

// The ways to prove who one is, as the document names them.
var (
	needsUser    = []map[string][]string{{"user": {}}}
	needsKey     = []map[string][]string{{"operator": {}}}
	needsTracker = []map[string][]string{{"tracker": {}}}
)

func openAPIConfig() huma.Config {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:   "Kith",
				Version: APIVersion,
				Description: "Live positions among friends. Times are unix milliseconds, distances and accuracies metres, " +
					"speeds m/s, angles degrees, positions WGS84 decimal degrees. Every error is application/problem+json with a code. " +
					"The WebSocket at GET /v1/ws is described in asyncapi.yaml.",
				License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Components: &huma.Components{
				Schemas: registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"user":     {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "A user token: a JWT with sub = the user's id and exp."},
					"operator": {Type: "http", Scheme: "bearer", Description: "An API key of auth.api_keys."},
					"tracker":  {Type: "http", Scheme: "basic", Description: "Any user name; a user token as password."},
				},
			},
			Tags: []*huma.Tag{
				{Name: "health", Description: "For load balancers."},
				{Name: "user", Description: "What a user does, with a user token."},
				{Name: "operator", Description: "What the operator's own servers do, with an API key."},
				{Name: "owntracks", Description: "For the OwnTracks apps."},
			},
		},
		Formats:       map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat}, // the second for problem+json
		DefaultFormat: "application/json",
	}
	config.AllowAdditionalPropertiesByDefault = true // what is not known is ignored, on both sides
	return config
}

// document is the OpenAPI document, indented. It leaves out what huma adds of
// its own and no call ever answers: faults of parameters are 400 here, in the
// default response.
func (p *publicAPI) document() ([]byte, error) {
	for _, item := range p.api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete} {
			if op != nil {
				delete(op.Responses, "422")
			}
		}
	}
	raw, err := json.Marshal(p.api.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// registerDocument serves the document, which is made once: huma's own handler
// makes it at the first request, without a lock.
func (p *publicAPI) registerDocument(mux *http.ServeMux) {
	doc, err := p.document()
	mux.HandleFunc("GET "+openAPIPath, func(w http.ResponseWriter, _ *http.Request) {
		if err != nil {
			internal().write(w)
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(doc)
	})
}

// schemaFor is the schema of T, for bodies that huma itself does not see.
func schemaFor[T any](api huma.API) *huma.Schema {
	return api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

func answer(description, contentType string, schema *huma.Schema) *huma.Response {
	return &huma.Response{Description: description, Content: map[string]*huma.MediaType{contentType: {Schema: schema}}}
}

// errorsOf documents the error of every call.
func (p *publicAPI) errorsOf() *huma.Response {
	return answer("An error; see its code", problemType, schemaFor[Problem](p.api))
}
