// Package adapter has what an adapter needs: it turns messages into the requests of a provider, and reads
// the provider's answers and webhooks.
//
// An absent text is "". A method on a nil *Value acts as on null.
package adapter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"leadhost/sdk/internal/adapterfunctions"
	_ "leadhost/sdk/internal/generated/adapter_exports"
	contract "leadhost/sdk/internal/generated/leadhost_adapter_adapter"
	core "leadhost/sdk/internal/generated/leadhost_types_core"
	wit "leadhost/sdk/internal/generated/wit/types"
	"leadhost/sdk/internal/plugin"
)

// The types of the contract.
type (
	Delivery          = core.Delivery
	Description       = core.Description
	SecretDeclaration = core.SecretDeclaration
	SenderPolicy      = core.SenderPolicy
	SenderCheck       = core.SenderCheck
	Location          = core.Location
	SignedPart        = core.SignedPart
	HandshakeAnswer   = core.HandshakeAnswer
	Requirement       = core.Requirement
	Reply             = core.Reply
	Segment           = core.Segment
	Request           = core.HttpRequest
	Response          = core.HttpResponse
	TemplateSend      = contract.TemplateSend
	SendStep          = contract.SendStep
	SendAnswer        = contract.SendAnswer
	Template          = contract.Template
	Placeholder       = contract.Placeholder
	// Route is a name with a value by which events lead to an instance.
	Route = wit.Tuple2[string, string]
)

// Adapter has the functions of an adapter. All but Describe, Send, ReadAnswer and ReadWebhook may be nil.
type Adapter struct {
	// Describe says who the adapter is and what it needs.
	Describe func() Description
	// Send returns the request of a message. A Refused as the error is its answer; any other is a crash.
	Send func(TemplateSend) (SendStep, error)
	// ReadAnswer says what the provider's answer means for the message.
	ReadAnswer func(TemplateSend, Response) SendAnswer
	// ReadWebhook returns the events of a webhook. A Problem refuses the body; any other error is a crash.
	ReadWebhook func(Delivery) (Webhook, error)
	// SenderChecks says how the provider's webhooks prove themselves. Nil: they need not.
	SenderChecks func(config string) (SenderPolicy, error)
	// Routes returns the names and values by which events lead to an instance.
	Routes func(config string) ([]Route, error)
	// Handshake answers a GET that verifies the address. Nil, or a nil answer: the provider has none.
	Handshake func(Delivery) (*HandshakeAnswer, error)
	// ListTemplates returns the request for the templates. Nil, or a nil request: they are not listed.
	ListTemplates func(config string) (*Request, error)
	// ReadTemplates reads its answer. A Refused as the error is one; any other is a crash.
	ReadTemplates func(config string, response Response) (TemplatePage, error)
}

// Webhook is what a webhook says. Without a reply the host answers with an empty 200.
type Webhook struct {
	Events []Event
	Reply  *Reply
}

// TemplatePage is a page of the templates, with the request for the next one.
type TemplatePage struct {
	Templates []Template
	Next      *Request
}

// Export makes these functions the plugin's. Call it in a function init.
func Export(adapter Adapter) {
	if adapter.Describe == nil || adapter.Send == nil || adapter.ReadAnswer == nil || adapter.ReadWebhook == nil {
		panic("an adapter needs Describe, Send, ReadAnswer and ReadWebhook")
	}
	adapterfunctions.Describe = adapter.Describe
	adapterfunctions.Send = adapter.send
	adapterfunctions.ReadAnswer = adapter.ReadAnswer
	adapterfunctions.ReadWebhook = adapter.readWebhook
	adapterfunctions.SenderChecks = func(config string) wit.Result[SenderPolicy, core.Problem] {
		if adapter.SenderChecks == nil {
			return plugin.Result(SenderPolicy{}, nil)
		}
		return plugin.Result(adapter.SenderChecks(config))
	}
	adapterfunctions.Routes = func(config string) wit.Result[[]Route, core.Problem] {
		if adapter.Routes == nil {
			return plugin.Result[[]Route](nil, nil)
		}
		return plugin.Result(adapter.Routes(config))
	}
	adapterfunctions.Handshake = func(delivery Delivery) wit.Result[wit.Option[HandshakeAnswer], core.Problem] {
		if adapter.Handshake == nil {
			return plugin.Handshake(nil, nil)
		}
		return plugin.Handshake(adapter.Handshake(delivery))
	}
	adapterfunctions.ListTemplates = adapter.listTemplates
	adapterfunctions.ReadTemplates = adapter.readTemplates
}

func (a Adapter) send(message TemplateSend) SendStep {
	step, err := a.Send(message)
	if err != nil {
		return Answer(Refusal(asRefused(err)))
	}
	return step
}

func (a Adapter) readWebhook(delivery Delivery) wit.Result[contract.Webhook, core.Problem] {
	plugin.TakeNotes()
	webhook, err := a.ReadWebhook(delivery)
	return plugin.Result(contract.Webhook{
		Events: webhook.Events, Reply: plugin.Option(webhook.Reply), Notes: plugin.TakeNotes(),
	}, err)
}

func (a Adapter) listTemplates(config string) wit.Result[contract.TemplateStep, core.Problem] {
	if a.ListTemplates == nil {
		return plugin.Result(contract.MakeTemplateStepUnlisted(), nil)
	}
	request, err := a.ListTemplates(config)
	if request == nil {
		return plugin.Result(contract.MakeTemplateStepUnlisted(), err)
	}
	return plugin.Result(contract.MakeTemplateStepCall(*request), err)
}

func (a Adapter) readTemplates(config string, response Response) wit.Result[contract.TemplatePage, contract.Refused] {
	if a.ReadTemplates == nil {
		refused := Refused{Category: "request", Text: "this adapter never requests templates and cannot read such a response"}
		return wit.Err[contract.TemplatePage](refused.contract())
	}
	page, err := a.ReadTemplates(config, response)
	if err != nil {
		return wit.Err[contract.TemplatePage](asRefused(err).contract())
	}
	return wit.Ok[contract.TemplatePage, contract.Refused](contract.TemplatePage{
		Templates: page.Templates, Next: plugin.Option(page.Next),
	})
}

// Checks returns a policy with these checks; those whose secret the instance has must all pass.
func Checks(checks ...SenderCheck) SenderPolicy {
	return SenderPolicy{Checks: checks}
}

// HmacSha256Hex returns the check of a hex HMAC-SHA256 of the raw body in a header.
func HmacSha256Hex(secret, header, prefix string) SenderCheck {
	proof := Location{Place: "header", Name: header}
	return SenderCheck{Secret: secret, Scheme: "hmac-sha256", Proof: proof, Encoding: "hex", Prefix: prefix}
}

// NewRoute returns a name with a value.
func NewRoute(name, value string) Route {
	return Route{F0: name, F1: value}
}

// RequestedTemplate is the template of a send, and the texts for the placeholders of its body.
type RequestedTemplate struct {
	Name     string
	Language string
	Values   []string
}

// Requested returns the template of a send, or a Refused if it has no meaning.
func Requested(message TemplateSend) (RequestedTemplate, error) {
	refused := func(text string) (RequestedTemplate, error) {
		return RequestedTemplate{}, Refused{Category: "request", Text: text}
	}
	given, err := ParseJSON(message.Template)
	if err != nil {
		return refused("the template is not valid JSON")
	}
	template := RequestedTemplate{Name: given.Text("name"), Language: given.Text("language.code", "language"), Values: []string{}}
	if template.Name == "" {
		return refused("the template has no `name`")
	}
	if template.Language == "" {
		return refused("the template has no `language.code`")
	}
	for _, component := range given.List("components") {
		if strings.EqualFold(component.Text("type"), "body") {
			template.Values = append(template.Values, component.Texts("parameters[*].text")...)
			break
		}
	}
	return template, nil
}

// Call returns the step of a message that the request sends.
func Call(request Request) SendStep {
	return contract.MakeSendStepCall(request)
}

// Answer returns the step of a message that needs no request.
func Answer(answer SendAnswer) SendStep {
	return contract.MakeSendStepAnswer(answer)
}

// Accepted says that the provider has taken the message, under these ids.
func Accepted(externalIDs ...string) SendAnswer {
	return contract.MakeSendAnswerAccepted(contract.Accepted{ExternalIds: externalIDs, Status: "accepted"})
}

// Unknown says that nothing shows whether the provider has the message, so that the host does not send
// it again.
func Unknown(why string) SendAnswer {
	return contract.MakeSendAnswerUnknown(why)
}

// Refused is a refusal, also as an error; its category decides what the host does.
type Refused struct {
	Category string
	Code     string
	Title    string
	Text     string
	Details  string
	// RetryAfterSeconds is 0 if the provider does not say.
	RetryAfterSeconds uint32
}

func (r Refused) Error() string {
	return r.Text
}

// Refusal says that the provider has not taken the message, or that it cannot be composed.
func Refusal(refused Refused) SendAnswer {
	return contract.MakeSendAnswerRefused(refused.contract())
}

func (r Refused) contract() contract.Refused {
	return contract.Refused{
		Category: r.Category, Code: r.Code, Title: r.Title, Text: r.Text, Details: r.Details,
		RetryAfterSeconds: plugin.Seconds(r.RetryAfterSeconds),
	}
}

func asRefused(err error) Refused {
	var refused Refused
	if !errors.As(err, &refused) {
		panic(fmt.Errorf("a function returned an error that is no Refused: %w", err))
	}
	return refused
}

// RetryAfter returns the seconds of a `retry-after` header; 0 if there is none.
func RetryAfter(response Response) uint32 {
	for _, header := range response.Headers {
		if header.F0 == "retry-after" {
			seconds, _ := strconv.ParseUint(strings.TrimSpace(header.F1), 10, 30)
			return uint32(seconds)
		}
	}
	return 0
}
