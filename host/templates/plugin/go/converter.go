// Package converter turns the requests of {{name}} into leads. The host calls its
// functions and does all input and output itself.
package converter

import "converter/leadhost"

// Describe says who the converter is. Raise the version with every change.
func Describe() leadhost.Description {
	return leadhost.Description{Name: "{{name}}", Version: "1.0.0", Summary: "Leads of {{name}}"}
}

// SenderChecks says how senders prove themselves: here they need not. The host masks the usual
// secrets in a body.
func SenderChecks(config string) leadhost.SenderPolicyResult {
	return leadhost.Checks()
}

// Handshake answers a GET that verifies the address.
func Handshake(delivery leadhost.Delivery) leadhost.HandshakeResult {
	return leadhost.NoHandshake()
}

// Convert returns the leads of a delivery.
func Convert(delivery leadhost.Delivery) leadhost.ConvertResult {
	body, err := leadhost.ParseBody(delivery)
	if err != nil {
		return leadhost.Refused(err.Error())
	}
	var items []leadhost.Item
	forms, paths := leadhost.Forms(body)
	for index, form := range forms {
		items = append(items, read(form, paths[index]))
	}
	return leadhost.Converted(items)
}

// Complete reads the answer to a fetch. This converter asks for none.
func Complete(completion leadhost.Completion) leadhost.CompleteResult {
	return leadhost.GivenUp("this converter fetches nothing")
}

// read returns the lead of a form. A value under a usual name (`nome`, `first_name`,
// `telefone`, `e-mail`, ...) fills its field; everything else but other people is kept as an attribute.
// fields.Take("deal.ref", "refs[0]") reads a name that is not usual, by its path.
func read(form *leadhost.Value, path string) leadhost.Item {
	if !form.IsObject() {
		return leadhost.Invalid("a lead must be an object", path)
	}
	fields := leadhost.NewFields(form)
	lead := leadhost.Lead{
		ExternalID: fields.ExternalID(),
		IsTest:     fields.IsTest(),
		Name:       fields.Name(),
		Phones:     fields.Phones(),
		Emails:     fields.Emails(),
		Listings:   fields.Listings(),
		Message:    fields.Message(),
		OccurredAt: fields.OccurredAt(),
		Source:     fields.Source(),
		Campaign:   fields.Campaign(),
	}
	if !fields.IsLead(lead) {
		return leadhost.Invalid("the lead has no phone, no e-mail address and no name with an id or a message", path)
	}
	lead.Attributes = fields.Rest() // Last: what nothing above has read.
	return lead.Item()
}
