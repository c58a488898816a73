// Package adapter sends the messages of {{name}}, and reads the provider's answers and webhooks.
// The host makes the calls itself.
//
// The provider is made up: it takes `from`, `to`, `template`, `language` and `values` at
// `/v1/messages`, answers with an `id`, and posts a list of `events`. Replace its address, names
// and codes with those of your own, and raise the version with each change.
package adapter

import (
	"fmt"

	"adapter/leadhost"
)

const host = "api.provider.example"

const schema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"additionalProperties": false,
	"required": ["number"],
	"properties": {
		"number": {
			"description": "The number that messages are sent from, in E.164.",
			"type": "string",
			"pattern": "^\\+[0-9]{8,15}$"
		}
	}
}`

// Describe says who the adapter is and what it needs.
func Describe() leadhost.Description {
	return leadhost.Description{
		Name:         "{{name}}",
		Version:      "1.0.0",
		Summary:      "Messages of {{name}}",
		ConfigSchema: schema,
		Secrets: []leadhost.SecretDeclaration{
			{Name: "token", Kind: "static", Summary: "The token for calls", Required: true},
			{Name: "webhook-key", Kind: "static", Summary: "The key with which the provider signs"},
		},
		Hosts: []string{host},
	}
}

// SenderChecks says how the provider's webhooks prove themselves.
func SenderChecks(config string) leadhost.SenderPolicyResult {
	return leadhost.Checks(leadhost.HmacSha256Hex("webhook-key", "x-signature", ""))
}

// Routes returns the number of this instance: one address may serve several.
func Routes(config string) leadhost.RoutesResult {
	return leadhost.Routes(leadhost.Pair("number", number(config)))
}

// Handshake answers a GET that verifies the address.
func Handshake(delivery leadhost.Delivery) leadhost.HandshakeResult {
	return leadhost.NoHandshake()
}

// Send returns the request of a message, or a refusal.
func Send(message leadhost.TemplateSend) leadhost.SendStep {
	template, refused := leadhost.Requested(message)
	if refused != nil {
		return leadhost.Answer(leadhost.Refusal(*refused))
	}
	body := leadhost.ObjectOf(
		leadhost.Field{Name: "from", Value: leadhost.Text(number(message.Config))},
		leadhost.Field{Name: "language", Value: leadhost.Text(template.Language)},
		// The provider repeats it in each status.
		leadhost.Field{Name: "reference", Value: leadhost.Text(message.MessageId)},
		leadhost.Field{Name: "template", Value: leadhost.Text(template.Name)},
		leadhost.Field{Name: "to", Value: leadhost.Text(message.Recipient)},
		leadhost.Field{Name: "values", Value: leadhost.TextsOf(template.Values)},
	)
	token := leadhost.HeaderOf("authorization", leadhost.Literal("Bearer "), leadhost.Secret("token"))
	return leadhost.PostJSON(host, "/v1/messages", body, token)
}

// ReadAnswer says what the provider's answer means for the message.
func ReadAnswer(message leadhost.TemplateSend, response leadhost.HttpResponse) leadhost.SendAnswer {
	body, _ := leadhost.ParseJSON(leadhost.ContentText(response.Body))
	if response.Status == 200 {
		if id := body.Text("id"); id != "" {
			return leadhost.Accepted(id)
		}
		return leadhost.Unknown("the provider answered 200 without an id")
	}
	refused := leadhost.Refused{
		Category:          category(response.Status, body.Text("error.code")),
		Code:              body.Text("error.code"),
		Text:              body.Text("error.message"),
		RetryAfterSeconds: leadhost.RetryAfter(response),
	}
	// After a 5xx, nothing shows whether the message was sent.
	if refused.Category == "" && response.Status >= 500 {
		return leadhost.Unknown(fmt.Sprintf("the provider answered %d", response.Status))
	}
	if refused.Category == "" {
		refused.Category = "request"
	}
	return leadhost.Refusal(refused)
}

func category(status uint16, code string) string {
	switch {
	case status == 401 || status == 403:
		return "connection"
	case status == 402:
		return "account"
	case status == 429:
		return "throttled-number"
	case code == "no-such-template":
		return "unknown-template"
	case code == "not-reachable":
		return "recipient"
	}
	return ""
}

// ReadWebhook returns the events of a webhook.
func ReadWebhook(delivery leadhost.Delivery) leadhost.WebhookResult {
	given, err := leadhost.EventsIn(delivery, "events")
	if err != nil {
		return leadhost.RefusedBody(err.Error())
	}
	var events []leadhost.Event
	for index, one := range given {
		events = append(events, event(one, index))
	}
	return leadhost.Webhook(events)
}

func event(given *leadhost.Value, index int) leadhost.Event {
	id := given.Text("id")
	if id == "" {
		return leadhost.Invalid("an event needs `id`", fmt.Sprintf("events.%d.id", index))
	}
	var route []leadhost.Route
	if number := given.Text("number"); number != "" {
		route = append(route, leadhost.Pair("number", number))
	}
	at := leadhost.TimeText(given.Text("at"))
	if state := given.Text("state"); state != "" {
		status := leadhost.Status{ExternalID: id, Status: state, MessageID: given.Text("reference"), OccurredAt: at}
		return status.Event(route...)
	}
	if from := given.Text("from"); from != "" {
		message := leadhost.Inbound{ExternalID: id, SenderID: from, SenderPhone: from, Content: given.Text("text"), OccurredAt: at}
		return message.Event(route...)
	}
	return leadhost.Other("neither a status nor a message", route...)
}

// ListTemplates says how the provider's templates are listed: here they are not.
func ListTemplates(config string) leadhost.ListTemplatesResult {
	return leadhost.Unlisted()
}

// ReadTemplates reads a list of templates, which this adapter never requests.
func ReadTemplates(config string, response leadhost.HttpResponse) leadhost.ReadTemplatesResult {
	return leadhost.NoTemplates()
}

func number(config string) string {
	value, _ := leadhost.ParseJSON(config)
	return value.Text("number")
}
