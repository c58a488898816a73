package plugin

import (
	"fmt"
	"strings"

	core "leadhost/sdk/internal/generated/leadhost_types_core"
	wit "leadhost/sdk/internal/generated/wit/types"
	"leadhost/sdk/internal/reading"
)

// NamedSegments is a header or a field of the query of a request.
type NamedSegments = wit.Tuple2[string, []core.Segment]

// Slot returns a segment that the host fills by one of its functions, from secrets.
func Slot(function string, secrets ...string) core.Segment {
	slot := core.Slot{Function: function}
	for _, name := range secrets {
		slot.Args = append(slot.Args, core.MakeSlotArgumentSecret(name))
	}
	return core.MakeSegmentSlot(slot)
}

// PostJSON returns a POST with a value of Go or of a body as JSON.
func PostJSON(url string, body any, headers ...NamedSegments) core.HttpRequest {
	request := NewRequest("POST", url, headers...)
	request.Headers = append(request.Headers, named("content-type", "application/json"))
	request.Body = literal(reading.Encode("body", body).JSON())
	return request
}

// NewRequest returns a request for a URL of `https`, or of `http` for a server on this machine; it
// panics for any other. A path with a secret and a body are set in the request.
func NewRequest(method, url string, headers ...NamedSegments) core.HttpRequest {
	scheme, rest, _ := strings.Cut(url, "://")
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if scheme != "https" && scheme != "http" || authority == "" {
		panic(fmt.Sprintf("the URL `%s` must begin with https:// (or http:// for a server on this machine) and a host", url))
	}
	return core.HttpRequest{
		Method:    method,
		Scheme:    scheme,
		Authority: authority,
		Path:      literal("/" + path),
		Query:     queryFields(query),
		Headers:   headers,
	}
}

// queryFields returns the fields of a query, decoded: the host encodes them.
func queryFields(query string) []NamedSegments {
	var fields []NamedSegments
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); pair != "" {
			fields = append(fields, named(reading.Unescape(name), reading.Unescape(value)))
		}
	}
	return fields
}

func named(name, text string) NamedSegments {
	return NamedSegments{F0: name, F1: literal(text)}
}

func literal(text string) []core.Segment {
	return []core.Segment{core.MakeSegmentLiteral(text)}
}
