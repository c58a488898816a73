package converter

import (
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
