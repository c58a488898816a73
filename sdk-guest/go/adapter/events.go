package adapter

import (
	"slices"

	contract "leadhost/sdk/internal/generated/leadhost_adapter_adapter"
	core "leadhost/sdk/internal/generated/leadhost_types_core"
	"leadhost/sdk/internal/plugin"
)

type (
	Event          = contract.Event
	ChannelError   = contract.ChannelError
	TemplateChange = contract.TemplateChange
)

// EventsIn returns the list of events under a key of a webhook's JSON body. Its error is a Problem.
func EventsIn(delivery Delivery, key string) ([]*Value, error) {
	body, err := ParseJSON(BodyText(delivery))
	if err != nil {
		return nil, err
	}
	for name, value := range body.Members() {
		if name == key && value.IsList() {
			return value.List(), nil
		}
	}
	return nil, Problem{Message: "the body has no list `" + key + "`"}
}

// Status is a status of a message; "" stands for an absent text.
type Status struct {
	ExternalID string
	// MessageID is the host's id of the message, if the provider gives it back.
	MessageID string
	// Status is `sent`, `delivered`, `read` or `failed`.
	Status string
	// OccurredAt is RFC 3339.
	OccurredAt  string
	RecipientID string
	Errors      []ChannelError
}

// Event returns the status as an event.
func (s Status) Event(route ...Route) Event {
	return Event{Route: given(route), Body: contract.MakeEventBodyStatus(contract.StatusUpdate{
		ExternalId:  s.ExternalID,
		MessageId:   plugin.OptionalText(s.MessageID),
		Status:      s.Status,
		OccurredAt:  plugin.OptionalText(s.OccurredAt),
		RecipientId: plugin.OptionalText(s.RecipientID),
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
	return Event{Route: given(route), Body: contract.MakeEventBodyInbound(contract.InboundMessage{
		ExternalId:  i.ExternalID,
		SenderId:    i.SenderID,
		SenderPhone: plugin.OptionalText(i.SenderPhone),
		SenderName:  plugin.OptionalText(i.SenderName),
		Kind:        plugin.OptionalText(i.Kind).SomeOr("text"),
		Content:     plugin.OptionalText(i.Content),
		OccurredAt:  plugin.OptionalText(i.OccurredAt),
		ReplyTo:     plugin.OptionalText(i.ReplyTo),
	})}
}

// ContactChange is a change of a contact: `number` (the value is the new id of the sender), `opt-out` or
// `opt-in`.
type ContactChange struct {
	SenderID    string
	SenderPhone string
	Kind        string
	Value       string
	OccurredAt  string
}

// Event returns the change as an event.
func (c ContactChange) Event(route ...Route) Event {
	return Event{Route: given(route), Body: contract.MakeEventBodyContact(contract.ContactChange{
		SenderId:    c.SenderID,
		SenderPhone: plugin.OptionalText(c.SenderPhone),
		Kind:        c.Kind,
		Value:       c.Value,
		OccurredAt:  plugin.OptionalText(c.OccurredAt),
	})}
}

// TemplateChanged returns the event of a template whose state the provider has changed.
func TemplateChanged(change TemplateChange, route ...Route) Event {
	return Event{Route: given(route), Body: contract.MakeEventBodyTemplate(change)}
}

// Other returns an event about which nothing is to be done, in words.
func Other(what string, route ...Route) Event {
	return Event{Route: given(route), Body: contract.MakeEventBodyOther(what)}
}

// Invalid returns an event that cannot be read; the others of the body are not affected.
func Invalid(message, path string) Event {
	return Event{Body: contract.MakeEventBodyInvalid(core.Problem{Message: message, Path: path})}
}

// given returns the routes that have a value.
func given(routes []Route) []Route {
	return slices.DeleteFunc(slices.Clone(routes), func(route Route) bool { return route.F1 == "" })
}
