package leadhost

import (
	"runtime/debug"
	"slices"
	"strings"

	contract "converter/bindings/leadhost_converter_converter"
	core "converter/bindings/leadhost_types_core"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

// A call has 128 MiB for everything. Near the limit the collector runs more often, instead of
// at every doubling of the heap.
func init() {
	debug.SetMemoryLimit(80 << 20)
}

// The types of the contract, by the names that converters use.
type (
	Delivery     = core.Delivery
	Description  = core.Description
	Secret       = core.SecretDeclaration
	SenderPolicy = core.SenderPolicy
	SenderCheck  = core.SenderCheck
	Location     = core.Location
	Problem      = core.Problem
	Completion   = contract.Completion
	Item         = contract.Item
	Consent      = contract.Consent
	Listing      = contract.Listing

	// SenderPolicyResult and the like are what the exported functions return.
	SenderPolicyResult = wit.Result[SenderPolicy, Problem]
	HandshakeResult    = wit.Result[wit.Option[core.HandshakeAnswer], Problem]
	ConvertResult      = wit.Result[contract.Conversion, Problem]
	CompleteResult     = wit.Result[[]Item, contract.Failure]
)

// Lead is a lead; "" stands for an absent text.
type Lead struct {
	ExternalID string
	// Action is `create` (also if it is empty), `update` or `delete`.
	Action   string
	IsTest   bool
	Name     string
	Phones   []string
	Emails   []string
	Region   string
	Listings []Listing
	Message  string
	// OccurredAt is RFC 3339, or local in the connection's time zone.
	OccurredAt string
	Source     string
	Consents   []Consent
	Campaign   []Attribute
	Attributes []Attribute
}

// Attribute is a name with a JSON text; in a campaign, with a plain text.
type Attribute struct{ Name, Value string }

// Item returns the lead as an item of a conversion.
func (l Lead) Item() Item {
	if l.Action == "" {
		l.Action = "create"
	}
	return Item{Outcome: contract.MakeOutcomeLead(contract.Lead{
		ExternalId: option(l.ExternalID),
		Action:     l.Action,
		IsTest:     l.IsTest,
		Name:       option(l.Name),
		Phones:     l.Phones,
		Emails:     l.Emails,
		Region:     option(l.Region),
		Listings:   l.Listings,
		Message:    option(l.Message),
		OccurredAt: option(l.OccurredAt),
		Source:     option(l.Source),
		Consents:   l.Consents,
		Campaign:   tuples(l.Campaign),
		Attributes: tuples(l.Attributes),
	})}
}

// Invalid returns an item that cannot be read; the others of the body are not affected.
func Invalid(message, path string) Item {
	return Item{Outcome: contract.MakeOutcomeInvalid(Problem{Message: message, Path: path})}
}

// Ignored returns an item with nothing to do, and why.
func Ignored(why string) Item {
	return Item{Outcome: contract.MakeOutcomeIgnored(why)}
}

// Converted returns the result of a conversion with lines for the delivery's log, after those of
// Rest.
func Converted(items []Item, notes ...string) ConvertResult {
	notes = append(takeNotes(), notes...)
	return wit.Ok[contract.Conversion, Problem](contract.Conversion{Items: items, Notes: notes})
}

// notes are the lines so far.
var notes []string

// More lines than a person reads.
const maxNotes = 200

// noteOnce adds a line unless the notes have it: the leads of a list are often alike.
func noteOnce(line string) {
	if len(notes) < maxNotes && !slices.Contains(notes, line) {
		notes = append(notes, line)
	}
}

// takeNotes returns the lines so far, and forgets them.
func takeNotes() []string {
	taken := notes
	notes = nil
	return taken
}

// Refused returns a result that refuses the body as a whole: the sender gets 400.
func Refused(message string) ConvertResult {
	takeNotes()
	return wit.Err[contract.Conversion, Problem](Problem{Message: message})
}

// Checks returns the ways in which senders prove themselves. The host masks the values of the
// UsualSecrets in a body.
func Checks(checks ...SenderCheck) SenderPolicyResult {
	return wit.Ok[SenderPolicy, Problem](SenderPolicy{Checks: checks, CarriedSecrets: UsualSecrets()})
}

// UsualSecrets returns the places of the usual secrets in a body: `google_key`, `password`, ...
func UsualSecrets() []Location {
	places := make([]Location, len(usualSecrets))
	for index, name := range usualSecrets {
		places[index] = Location{Place: "json", Name: name}
	}
	return places
}

// NoHandshake is the answer of a source that does not verify the address.
func NoHandshake() HandshakeResult {
	return wit.Ok[wit.Option[core.HandshakeAnswer], Problem](wit.None[core.HandshakeAnswer]())
}

// GivenUp is the answer to a fetch that the converter never asked for.
func GivenUp(message string) CompleteResult {
	return wit.Err[[]Item](contract.Failure{
		Category: "give-up", Message: message, RetryAfterSeconds: wit.None[uint32](),
	})
}

// ParseBody returns the body of a delivery: a form, urlencoded or in parts, if its content type
// says so and it does not begin like JSON, else JSON. A text in it that is itself JSON, under a name such as
// `rawRequest` or `payload`, is what it contains.
func ParseBody(delivery Delivery) (*Value, error) {
	body, err := parseBody(delivery)
	if err != nil {
		return nil, err
	}
	// Form builders send the whole answer as JSON in one field, where no path leads into a
	// text. A text that is not JSON stays.
	for index, field := range body.Fields {
		text := strings.TrimLeft(field.Value.Raw, " \t\r\n")
		isJSON := field.Value.Kind == String && (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["))
		if isJSON && slices.Contains(jsonTexts, Fold(field.Name)) {
			if value, err := ParseJSON(text); err == nil {
				body.Fields[index].Value = value
			}
		}
	}
	return body, nil
}

func parseBody(delivery Delivery) (*Value, error) {
	kind, _, _ := strings.Cut(Header(delivery, "content-type"), ";")
	if strings.EqualFold(strings.TrimSpace(kind), "multipart/form-data") {
		return ParseMultipart(Header(delivery, "content-type"), rawBody(delivery))
	}
	if strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		// Each name and value of a form has an encoding of its own.
		text := strings.Trim(strings.TrimPrefix(rawBody(delivery), "\ufeff"), " \t\r\n")
		if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
			return ParseForm(text), nil
		}
	}
	return ParseJSON(BodyText(delivery))
}

func rawBody(delivery Delivery) string {
	if delivery.Body.Tag() == core.Content_Text {
		return delivery.Body.Text()
	}
	return string(delivery.Body.Bytes())
}

// BodyText returns the body as text; decoded reads bytes, which are not UTF-8.
func BodyText(delivery Delivery) string {
	return decoded(rawBody(delivery))
}

// Header returns the first header of that name, in lower case; "" if there is none.
func Header(delivery Delivery, name string) string {
	for _, header := range delivery.Headers {
		if header.F0 == name {
			return header.F1
		}
	}
	return ""
}

func option(text string) wit.Option[string] {
	if text = strings.TrimSpace(text); text == "" {
		return wit.None[string]()
	}
	return wit.Some(text)
}

func tuples(attributes []Attribute) []wit.Tuple2[string, string] {
	out := make([]wit.Tuple2[string, string], len(attributes))
	for index, attribute := range attributes {
		out[index] = wit.Tuple2[string, string]{F0: attribute.Name, F1: attribute.Value}
	}
	return out
}
