package adapter

import (
	core "leadhost/sdk/internal/generated/leadhost_types_core"
	"leadhost/sdk/internal/plugin"
	"leadhost/sdk/internal/reading"
)

type (
	// Value is a value of a body: JSON, or a form or XML in the shape of JSON. Its methods are At, Text,
	// Texts, Number and List, which take paths, and Members, IsObject, IsList, IsAbsent and JSON.
	Value = reading.Value
	// Problem is an error that says why a body cannot be read; as the error of ReadWebhook it refuses the body.
	Problem = reading.Problem
	// NamedSegments is a header or a field of the query of a request.
	NamedSegments = plugin.NamedSegments
)

// Parse returns the body of a delivery as a tree, by its content and its label: JSON, XML, or a form,
// urlencoded or in parts; if it is empty, the query as a form. Its error is a Problem.
func Parse(delivery Delivery) (*Value, error) { return reading.Parse(delivery) }

// ParseJSON returns a text of JSON, such as the configuration, as a tree.
func ParseJSON(text string) (*Value, error) { return reading.ParseJSON(text) }

// ParseForm returns an urlencoded text as a tree: `a[b][0]=x` is {"a":{"b":["x"]}}.
func ParseForm(text string) (*Value, error) { return reading.ParseForm(text) }

// BodyText returns the body of a delivery as text; bytes that are not UTF-8 are read as windows-1252.
func BodyText(delivery Delivery) string { return reading.ContentText(delivery.Body) }

// ContentText returns the body of a response in the same way.
func ContentText(body core.Content) string { return reading.ContentText(body) }

// Header returns the first header of that name, in lower case; "" if there is none.
func Header(delivery Delivery, name string) string { return reading.Header(delivery, name) }

// QueryField returns the first field of that name in the query; "" if there is none.
func QueryField(delivery Delivery, name string) string { return reading.QueryField(delivery, name) }

// Join returns the texts with a space between, absent ones left out. A first text that ends with the
// second is whole by itself.
func Join(texts ...string) string { return reading.Join(texts...) }

// Phone returns a phone as it is written, "" for a text with fewer than four digits. The codes are those
// beside it, which it may lack: the area's code, then the country's, `55` or `BR`.
func Phone(text string, codes ...string) string { return reading.Phone(text, codes...) }

// Email returns the trimmed text if it has an `@`, else "".
func Email(text string) string { return reading.Email(text) }

// Time returns a time as the contract has it, "" for a text that is none: of an epoch, ISO 8601, or a date
// with the day before the month. Without a zone in the text it is local to the connection.
func Time(text string) string { return reading.Time(text) }

// Yes reports whether a text says yes, in English, Portuguese or Spanish.
func Yes(text string) bool { return reading.Yes(text) }

// Note adds a line to the notes of the delivery, which people read in the console.
func Note(line string) { plugin.Note(line) }

// Log writes the values to the log, which is kept with the delivery, also after a crash.
func Log(values ...any) { plugin.Log(values...) }

// NewRequest returns a request for a URL of `https`, or of `http` for a server on this machine; it
// panics for any other. Set a Body, or a Path with a secret in it, in what it returns.
func NewRequest(method, url string, headers ...NamedSegments) Request {
	return plugin.NewRequest(method, url, headers...)
}

// PostJSON returns a POST with a value of Go, or of a body, as JSON.
func PostJSON(url string, body any, headers ...NamedSegments) Request {
	return plugin.PostJSON(url, body, headers...)
}

// NewHeader returns a header of a request.
func NewHeader(name string, segments ...Segment) NamedSegments {
	return NamedSegments{F0: name, F1: segments}
}

// Literal returns a segment of plain text.
func Literal(text string) Segment { return core.MakeSegmentLiteral(text) }

// Secret returns a segment that the host fills with a secret; the plugin never sees it.
func Secret(name string) Segment { return plugin.Slot("secret", name) }

// BasicAuth returns a segment that the host fills with `Basic` and two secrets in base64.
func BasicAuth(user, password string) Segment { return plugin.Slot("basic", user, password) }
