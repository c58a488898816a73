// Package leadhost has what adapters need: templates, requests, answers and events as plain
// structs, and JSON as a tree whose numbers keep every digit.
package leadhost

import (
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	contract "adapter/bindings/leadhost_adapter_adapter"
	core "adapter/bindings/leadhost_types_core"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

// A call has 128 MiB for everything. Near the limit the collector runs more often, instead of
// at every doubling of the heap.
func init() {
	debug.SetMemoryLimit(80 << 20)
}

// The types of the contract, by the names that adapters use.
type (
	Delivery          = core.Delivery
	Description       = core.Description
	SecretDeclaration = core.SecretDeclaration
	SenderPolicy      = core.SenderPolicy
	SenderCheck       = core.SenderCheck
	Problem           = core.Problem
	HttpResponse      = core.HttpResponse
	Segment           = core.Segment
	TemplateSend      = contract.TemplateSend
	SendStep          = contract.SendStep
	SendAnswer        = contract.SendAnswer
	Event             = contract.Event

	// Route is a name with a value by which events lead to an instance.
	Route = wit.Tuple2[string, string]
	// NamedSegments is a header of a request.
	NamedSegments = wit.Tuple2[string, []Segment]

	// SenderPolicyResult and the like are what the exported functions return.
	SenderPolicyResult  = wit.Result[SenderPolicy, Problem]
	RoutesResult        = wit.Result[[]Route, Problem]
	HandshakeResult     = wit.Result[wit.Option[core.HandshakeAnswer], Problem]
	WebhookResult       = wit.Result[contract.Webhook, Problem]
	ListTemplatesResult = wit.Result[contract.TemplateStep, Problem]
	ReadTemplatesResult = wit.Result[contract.TemplatePage, contract.Refused]
)

// Checks returns the ways in which the provider's webhooks prove themselves.
func Checks(checks ...SenderCheck) SenderPolicyResult {
	return wit.Ok[SenderPolicy, Problem](SenderPolicy{Checks: checks})
}

// HmacSha256Hex returns the check of a hex HMAC-SHA256 of the raw body in a header.
func HmacSha256Hex(secret, header, prefix string) SenderCheck {
	proof := core.Location{Place: "header", Name: header}
	return SenderCheck{Secret: secret, Scheme: "hmac-sha256", Proof: proof, Encoding: "hex", Prefix: prefix}
}

// Pair returns a route.
func Pair(name, value string) Route {
	return Route{F0: name, F1: value}
}

// Routes returns the names and values by which events lead to an instance.
func Routes(routes ...Route) RoutesResult {
	return wit.Ok[[]Route, Problem](routes)
}

// NoHandshake is the answer of a provider that does not verify the address.
func NoHandshake() HandshakeResult {
	return wit.Ok[wit.Option[core.HandshakeAnswer], Problem](wit.None[core.HandshakeAnswer]())
}

// Template is the template of a send, and the texts for the placeholders of its body.
type Template struct {
	Name     string
	Language string
	Values   []string
}

// Requested returns the template of a send, or a refusal if it has no meaning.
func Requested(message TemplateSend) (Template, *Refused) {
	refused := func(text string) (Template, *Refused) {
		return Template{}, &Refused{Category: "request", Text: text}
	}
	given, err := ParseJSON(message.Template)
	if err != nil {
		return refused("the template is not valid JSON")
	}
	template := Template{Name: given.Text("name"), Language: given.Text("language.code", "language"), Values: []string{}}
	if template.Name == "" {
		return refused("the template has no `name`")
	}
	if template.Language == "" {
		return refused("the template has no `language.code`")
	}
	components := given.At("components")
	if components == nil {
		return template, nil
	}
	for _, component := range components.Items {
		if !strings.EqualFold(component.Text("type"), "body") {
			continue
		}
		if parameters := component.At("parameters"); parameters != nil {
			for _, parameter := range parameters.Items {
				if text := parameter.Text("text"); text != "" {
					template.Values = append(template.Values, text)
				}
			}
		}
		break
	}
	return template, nil
}

// PostJSON returns the step of a POST with a JSON body.
func PostJSON(authority, path string, body *Value, headers ...NamedSegments) SendStep {
	return contract.MakeSendStepCall(core.HttpRequest{
		Method:    "POST",
		Scheme:    "https",
		Authority: authority,
		Path:      []Segment{Literal(path)},
		Headers:   append(headers, HeaderOf("content-type", Literal("application/json"))),
		Body:      []Segment{Literal(body.JSON())},
	})
}

// HeaderOf returns a header with its segments.
func HeaderOf(name string, segments ...Segment) NamedSegments {
	return NamedSegments{F0: name, F1: segments}
}

// Literal returns a segment of plain text.
func Literal(text string) Segment {
	return core.MakeSegmentLiteral(text)
}

// Secret returns a segment that the host fills with a secret; the adapter never sees it.
func Secret(name string) Segment {
	argument := core.MakeSlotArgumentSecret(name)
	return core.MakeSegmentSlot(core.Slot{Function: "secret", Args: []core.SlotArgument{argument}})
}

// ObjectOf returns a JSON object with these members, in this order.
func ObjectOf(fields ...Field) *Value {
	return &Value{Kind: Object, Fields: fields}
}

// TextsOf returns a JSON list of texts.
func TextsOf(texts []string) *Value {
	list := &Value{Kind: Array}
	for _, text := range texts {
		list.Items = append(list.Items, Text(text))
	}
	return list
}

// Answer returns the step of a message that needs no request.
func Answer(answer SendAnswer) SendStep {
	return contract.MakeSendStepAnswer(answer)
}

// Accepted says that the provider has taken the message, under these ids.
func Accepted(externalIDs ...string) SendAnswer {
	return contract.MakeSendAnswerAccepted(contract.Accepted{
		ExternalIds: externalIDs, RecipientId: wit.None[string](), Status: "accepted",
	})
}

// Unknown says that nothing shows whether the provider has the message, so that the host does
// not send it again.
func Unknown(why string) SendAnswer {
	return contract.MakeSendAnswerUnknown(why)
}

// Refused is a refusal; its category decides what the host does.
type Refused struct {
	Category string
	Code     string
	Text     string
	// RetryAfterSeconds is 0 if the provider does not say.
	RetryAfterSeconds uint32
}

// Refusal says that the provider has not taken the message, or that it cannot be composed.
func Refusal(refused Refused) SendAnswer {
	return contract.MakeSendAnswerRefused(refused.contract())
}

func (r Refused) contract() contract.Refused {
	wait := wit.None[uint32]()
	if r.RetryAfterSeconds > 0 {
		wait = wit.Some(r.RetryAfterSeconds)
	}
	return contract.Refused{Category: r.Category, Code: r.Code, Text: r.Text, RetryAfterSeconds: wait}
}

// RetryAfter returns the seconds of a `retry-after` header; 0 if there is none.
func RetryAfter(response HttpResponse) uint32 {
	for _, header := range response.Headers {
		if header.F0 == "retry-after" {
			seconds, _ := strconv.ParseUint(strings.TrimSpace(header.F1), 10, 30)
			return uint32(seconds)
		}
	}
	return 0
}

// EventsIn returns the list of events under a key of a webhook's JSON body.
func EventsIn(delivery Delivery, key string) ([]*Value, error) {
	body, err := ParseJSON(ContentText(delivery.Body))
	if err != nil {
		return nil, err
	}
	events := body.At(key)
	if events == nil || events.Kind != Array {
		return nil, fmt.Errorf("the body has no list `%s`", key)
	}
	return events.Items, nil
}

// FormIn returns the fields of an urlencoded webhook.
func FormIn(delivery Delivery) *Value {
	return ParseForm(ContentText(delivery.Body))
}

// Webhook returns the events of a webhook, with lines for the delivery's log.
func Webhook(events []Event, notes ...string) WebhookResult {
	return wit.Ok[contract.Webhook, Problem](contract.Webhook{
		Events: events, Reply: wit.None[core.Reply](), Notes: notes,
	})
}

// RefusedBody refuses the body of a webhook as a whole.
func RefusedBody(message string) WebhookResult {
	return wit.Err[contract.Webhook](Problem{Message: message})
}

// Status is a status of a message; "" stands for an absent text.
type Status struct {
	ExternalID string
	// MessageID is the host's id of the message, if the provider gives it back.
	MessageID string
	Status    string
	// OccurredAt is RFC 3339.
	OccurredAt  string
	RecipientID string
	Errors      []contract.ChannelError
}

// Event returns the status as an event.
func (s Status) Event(route ...Route) Event {
	return Event{Route: route, Body: contract.MakeEventBodyStatus(contract.StatusUpdate{
		ExternalId:  s.ExternalID,
		MessageId:   option(s.MessageID),
		Status:      s.Status,
		OccurredAt:  option(s.OccurredAt),
		RecipientId: option(s.RecipientID),
		Errors:      s.Errors,
	})}
}

// Inbound is a message of a contact; "" stands for an absent text.
type Inbound struct {
	ExternalID  string
	SenderID    string
	SenderPhone string
	SenderName  string
	// Kind is `text` if it is empty.
	Kind    string
	Content string
	// OccurredAt is RFC 3339.
	OccurredAt string
	ReplyTo    string
}

// Event returns the message as an event.
func (i Inbound) Event(route ...Route) Event {
	if i.Kind == "" {
		i.Kind = "text"
	}
	return Event{Route: route, Body: contract.MakeEventBodyInbound(contract.InboundMessage{
		ExternalId:  i.ExternalID,
		SenderId:    i.SenderID,
		SenderPhone: option(i.SenderPhone),
		SenderName:  option(i.SenderName),
		Kind:        i.Kind,
		Content:     option(i.Content),
		OccurredAt:  option(i.OccurredAt),
		ReplyTo:     option(i.ReplyTo),
	})}
}

// Other returns an event about which nothing is to be done, in words.
func Other(what string, route ...Route) Event {
	return Event{Route: route, Body: contract.MakeEventBodyOther(what)}
}

// Invalid returns an event that cannot be read; the others of the body are not affected.
func Invalid(message, path string) Event {
	return Event{Body: contract.MakeEventBodyInvalid(Problem{Message: message, Path: path})}
}

// Unlisted says that the adapter cannot list the provider's templates.
func Unlisted() ListTemplatesResult {
	return wit.Ok[contract.TemplateStep, Problem](contract.MakeTemplateStepUnlisted())
}

// NoTemplates refuses an answer about templates that the adapter never requested.
func NoTemplates() ReadTemplatesResult {
	refused := Refused{Category: "request", Text: "this adapter never requests templates and cannot read such a response"}
	return wit.Err[contract.TemplatePage](refused.contract())
}

// ContentText returns a body as text; decoded reads bytes, which are not UTF-8.
func ContentText(body core.Content) string {
	if body.Tag() == core.Content_Text {
		return body.Text()
	}
	return decoded(string(body.Bytes()))
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

var (
	errTime   = errors.New("no time")
	offsetEnd = regexp.MustCompile(`([+-][0-9]{2})([0-9]{2})$`)
)

// TimeText returns an epoch as RFC 3339, and an ISO text unchanged except that an offset like
// `+0000` gets its colon; "" for an epoch that is no time.
func TimeText(text string) string {
	whole, _, _ := strings.Cut(text, ".")
	if number, err := epoch(whole); err == nil {
		at := time.UnixMilli(number).UTC()
		return strings.Replace(at.Format("2006-01-02T15:04:05.000Z"), ".000Z", "Z", 1)
	}
	if strings.Contains(text, ":") {
		return offsetEnd.ReplaceAllString(text, "$1:$2")
	}
	return text
}

// epoch returns the milliseconds of an epoch of seconds or milliseconds.
func epoch(text string) (int64, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 10_000 || number > 253_402_300_799_999 {
		return 0, errTime
	}
	// 1e11 seconds are the year 5138; 1e11 milliseconds are 1973.
	if number > 100_000_000_000 {
		return number, nil
	}
	return number * 1000, nil
}

func option(text string) wit.Option[string] {
	if text == "" {
		return wit.None[string]()
	}
	return wit.Some(text)
}
