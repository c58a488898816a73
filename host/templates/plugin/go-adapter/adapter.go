// {{name}} sends messages through a provider, and reads its answers and webhooks. The host makes the calls.
// The provider is made up: replace its address, names and codes, and raise the version with each change.
package main

import (
	"fmt"

	leadhost "leadhost/sdk/adapter"
)

const schema = `{
	"type": "object", "additionalProperties": false, "required": ["number"],
	"properties": {"number": {"description": "The sender, in E.164.", "type": "string", "pattern": "^\\+[0-9]{8,15}$"}}
}`

func init() {
	leadhost.Export(leadhost.Adapter{
		Describe: describe, SenderChecks: senderChecks, Routes: routes,
		Send: send, ReadAnswer: readAnswer, ReadWebhook: readWebhook,
	})
}

func main() {} // Go wants one; the host calls the functions above.

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

func senderChecks(config string) (leadhost.SenderPolicy, error) {
	return leadhost.Checks(leadhost.HmacSha256Hex("webhook-key", "x-signature", "")), nil
}

// One address may serve several instances: events lead to the one with their number.
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
	webhook := leadhost.Webhook{}
	for index, event := range given {
		webhook.Events = append(webhook.Events, readEvent(event, index))
	}
	return webhook, err
}

func readEvent(event *leadhost.Value, index int) leadhost.Event {
	id, at, from := event.Text("id"), leadhost.Time(event.Text("at")), event.Text("from")
	route := leadhost.NewRoute("number", event.Text("number"))
	switch state := event.Text("state"); {
	case id == "":
		return leadhost.Invalid("an event needs `id`", fmt.Sprintf("events.%d.id", index))
	case state != "":
		return leadhost.Status{ExternalID: id, Status: state, MessageID: event.Text("reference"), OccurredAt: at}.Event(route)
	case from != "":
		text := event.Text("text")
		return leadhost.Inbound{ExternalID: id, SenderID: from, SenderPhone: from, Content: text, OccurredAt: at}.Event(route)
	}
	return leadhost.Other("neither a status nor a message", route)
}

func number(config string) string {
	value, _ := leadhost.ParseJSON(config)
	return value.Text("number")
}
