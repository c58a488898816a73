package converter

import (
	"slices"
	"testing"

	contract "converter/bindings/leadhost_converter_converter"
	core "converter/bindings/leadhost_types_core"
)

// The golden cases run in the host's engine: leadhost plugin test.

func TestALeadKeepsEveryDigitAndTheRest(t *testing.T) {
	body := `{"id":9007199254740993,"name":"Ana Prado","phone":"11900000001","unit":{"rooms":3}}`
	result := Convert(core.Delivery{Body: core.MakeContentText(body)})
	lead := result.Ok().Items[0].Outcome.Lead()
	if id := lead.ExternalId.SomeOr(""); id != "9007199254740993" {
		t.Errorf("the id is %q", id)
	}
	if rest := lead.Attributes[0]; rest.F0 != "unit" || rest.F1 != `{"rooms":3}` {
		t.Errorf("the rest is %q", rest)
	}
}

func TestALeadWithoutAContactHasANameOrAnswersAndAnID(t *testing.T) {
	for body, expect := range map[string]uint8{
		`{"id":"1","name":"Ana"}`:                                        contract.Outcome_Lead,
		`{"name":"Ana","message":"Olá"}`:                                 contract.Outcome_Lead,
		`{"id":"1","answers":[{"question":"Prazo","answer":"3 meses"}]}`: contract.Outcome_Lead,
		`{"event":"deal_created","id":"1","name":"Ana"}`:                 contract.Outcome_Invalid,
		`{"id":"1","buyer_name":"Ana"}`:                                  contract.Outcome_Invalid,
	} {
		items := Convert(core.Delivery{Body: core.MakeContentText(body)}).Ok().Items
		if tag := items[0].Outcome.Tag(); tag != expect {
			t.Errorf("the outcome of %s is %d", body, tag)
		}
	}
}

func TestAFieldOrAValueSaysThatALeadIsATest(t *testing.T) {
	for field, expect := range map[string]bool{
		`"is_test":true`: true, `"Teste":"Sim"`: true, `"nome":"<test lead: dummy>"`: true, `"test":0`: false,
	} {
		body := `{"email":"ana@example.com",` + field + `}`
		items := Convert(core.Delivery{Body: core.MakeContentText(body)}).Ok().Items
		if isTest := items[0].Outcome.Lead().IsTest; isTest != expect {
			t.Errorf("with %s it is %t", field, isTest)
		}
	}
}

func TestTheHostMasksTheUsualSecrets(t *testing.T) {
	carried := SenderChecks("{}").Ok().CarriedSecrets
	if !slices.Contains(carried, core.Location{Place: "json", Name: "google_key"}) {
		t.Errorf("the policy names %v", carried)
	}
}

func TestDamagedBodiesDoNotPanic(t *testing.T) {
	body := `{"leads":[{"contact":{"phones":[{"ddd":"11","value":"9"}],"e-mail":["a@b.c"]}}]}`
	for end := range body {
		Convert(core.Delivery{Body: core.MakeContentText(body[:end])})
		Convert(core.Delivery{Body: core.MakeContentBytes([]byte(body[end:] + "\xff"))})
	}
	invalid := Convert(core.Delivery{Body: core.MakeContentText(`{"id":1}`)}).Ok().Items[0]
	if invalid.Outcome.Tag() != contract.Outcome_Invalid {
		t.Error("a lead without a contact is accepted")
	}
}
