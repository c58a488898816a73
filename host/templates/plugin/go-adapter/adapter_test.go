package adapter

import (
	"testing"

	contract "adapter/bindings/leadhost_adapter_adapter"
	core "adapter/bindings/leadhost_types_core"
)

// The golden cases run in the host's engine: leadhost plugin test.

const config = `{"number": "+551130000001"}`

func message(template string) contract.TemplateSend {
	return contract.TemplateSend{MessageId: "m-1", Recipient: "+5511900000001", Template: template, Config: config}
}

func TestTheValuesOfTheTemplatesBodyAreSentInOrder(t *testing.T) {
	template := `{"name":"welcome","language":{"code":"pt_BR"},"components":[
		{"type":"BODY","parameters":[{"type":"text","text":"Ana"},{"type":"text","text":7}]}]}`
	body := Send(message(template)).Call().Body[0].Literal()
	want := `{"from":"+551130000001","language":"pt_BR","reference":"m-1","template":"welcome",` +
		`"to":"+5511900000001","values":["Ana","7"]}`
	if body != want {
		t.Errorf("the body is %s", body)
	}
}

func TestATemplateWithoutAMeaningIsRefused(t *testing.T) {
	for _, template := range []string{"{}", `{"name":"x"}`, "null", "{"} {
		if category := Send(message(template)).Answer().Refused().Category; category != "request" {
			t.Errorf("%s: the category is %q", template, category)
		}
	}
}

func TestTheProvidersAnswerDecidesWhatTheHostDoes(t *testing.T) {
	for _, one := range []struct {
		status   uint16
		body     string
		tag      uint8
		category string
	}{
		{200, `{"id": "p-1"}`, contract.SendAnswer_Accepted, ""},
		{200, `{}`, contract.SendAnswer_Unknown, ""},
		{400, `{}`, contract.SendAnswer_Refused, "request"},
		{401, ``, contract.SendAnswer_Refused, "connection"},
		{404, `{"error": {"code": "no-such-template"}}`, contract.SendAnswer_Refused, "unknown-template"},
		{429, `{}`, contract.SendAnswer_Refused, "throttled-number"},
		{502, `<html>`, contract.SendAnswer_Unknown, ""},
	} {
		answer := ReadAnswer(message("{}"), core.HttpResponse{Status: one.status, Body: core.MakeContentText(one.body)})
		if answer.Tag() != one.tag {
			t.Errorf("%d %s: the answer has the tag %d", one.status, one.body, answer.Tag())
		} else if one.category != "" && answer.Refused().Category != one.category {
			t.Errorf("%d %s: the category is %q", one.status, one.body, answer.Refused().Category)
		}
	}
}

func TestABadEventDoesNotAffectTheOthers(t *testing.T) {
	body := `{"events": [1, {"id": "m-1", "state": "read", "at": 1767268800}]}`
	events := ReadWebhook(core.Delivery{Body: core.MakeContentText(body)}).Ok().Events
	if events[0].Body.Tag() != contract.EventBody_Invalid {
		t.Error("an event without an id is read")
	}
	if at := events[1].Body.Status().OccurredAt.SomeOr(""); at != "2026-01-01T12:00:00Z" {
		t.Errorf("the time is %q", at)
	}
	refused := ReadWebhook(core.Delivery{Body: core.MakeContentText("{}")})
	if why := refused.Err().Message; why != "the body has no list `events`" {
		t.Errorf("the reason is %q", why)
	}
}
