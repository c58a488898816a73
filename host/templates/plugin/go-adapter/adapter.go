// {{name}} sends messages through a provider, and reads its answers and webhooks. The host makes the calls.
//
// The provider is made up: replace its address, names and codes, and raise the version with each change.
package main

import (
	"fmt"

	leadhost "leadhost/sdk/adapter"
)

const schema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"additionalProperties": false,
	"required": ["number"],
	"properties": {
		"number": {"description": "The sender, in E.164.", "type": "string", "pattern": "^\\+[0-9]{8,15}$"}
	}
}`

func init() {
	leadhost.Export(leadhost.Adapter{
		Describe: describe, SenderChecks: senderChecks, Routes: routes,
		Send: send, ReadAnswer: readAnswer, ReadWebhook: readWebhook,
	})
}

// The host calls the exported functions; Go wants a main all the same.
func main() {}

func describe() leadhost.Description {
	return leadhost.Description{
		Name: "{{name}}", Version: "1.0.0", Summary: "Messages of {{name}}", ConfigSchema: schema,
		Secrets: []leadhost.SecretDeclaration{
			{Name: "token", Kind: "static", Summary: "The token for calls", Required: true},
			{Name: "webhook-key", Kind: "static", Summary: "The key with which the provider signs"},
		},
		Hosts: []string{"api.provider.example"},
	}
}

// senderChecks says how the provider's webhooks prove themselves.
func senderChecks(config string) (leadhost.SenderPolicy, error) {
	check := leadhost.HmacSha256Hex("webhook-key", "x-signature", "")
	return leadhost.SenderPolicy{Checks: []leadhost.SenderCheck{check}}, nil
}

// routes returns the number of this instance: one address may serve several.
func routes(config string) ([]leadhost.Route, error) {
	return []leadhost.Route{leadhost.NewRoute("number", number(config))}, nil
}

func send(message leadhost.TemplateSend) (leadhost.SendStep, error) {
	template, err := leadhost.Requested(message)
	if err != nil {
		return leadhost.SendStep{}, err
	}
	token := leadhost.NewHeader("authorization", leadhost.Literal("Bearer "), leadhost.Secret("token"))
	body := map[string]any{
		"from":      number(message.Config),
		"to":        message.Recipient,
		"template":  template.Name,
		"language":  template.Language,
		"values":    template.Values,
		"reference": message.MessageId, // The provider repeats it in each status.
	}
	return leadhost.Call(leadhost.PostJSON("https://api.provider.example/v1/messages", body, token)), nil
}

// readAnswer answers Unknown unless it is certain whether the provider has the message.
func readAnswer(message leadhost.TemplateSend, response leadhost.Response) leadhost.SendAnswer {
	body, _ := leadhost.ParseJSON(leadhost.ContentText(response.Body))
	id, code := body.Text("id"), body.Text("error.code")
	refused := leadhost.Refused{
		Category: "request", Code: code, Text: body.Text("error.message"), RetryAfterSeconds: leadhost.RetryAfter(response),
	}
	switch status := response.Status; {
	case status == 200 && id != "":
		return leadhost.Accepted(id)
	case status == 200 || status >= 500:
		return leadhost.Unknown(fmt.Sprintf("the provider answered %d", status))
	case status == 401 || status == 403:
		refused.Category = "connection"
	case status == 429:
		refused.Category = "throttled-number"
	case code == "no-such-template":
		refused.Category = "unknown-template"
	}
	return leadhost.Refusal(refused)
}

func readWebhook(delivery leadhost.Delivery) (leadhost.Webhook, error) {
	given, err := leadhost.EventsIn(delivery, "events")
	var events []leadhost.Event
	for index, event := range given {
		events = append(events, readEvent(event, index))
	}
	return leadhost.Webhook{Events: events}, err
}

func readEvent(event *leadhost.Value, index int) leadhost.Event {
	id, at := event.Text("id"), leadhost.Time(event.Text("at"))
	if id == "" {
		return leadhost.Invalid("an event needs `id`", fmt.Sprintf("events.%d.id", index))
	}
	route := leadhost.NewRoute("number", event.Text("number"))
	if state := event.Text("state"); state != "" {
		return leadhost.Status{ExternalID: id, Status: state, MessageID: event.Text("reference"), OccurredAt: at}.Event(route)
	}
	if from := event.Text("from"); from != "" {
		message := leadhost.Inbound{ExternalID: id, SenderID: from, SenderPhone: from, Content: event.Text("text"), OccurredAt: at}
		return message.Event(route)
	}
	return leadhost.Other("neither a status nor a message")
}

func number(config string) string {
	value, _ := leadhost.ParseJSON(config)
	return value.Text("number")
}
